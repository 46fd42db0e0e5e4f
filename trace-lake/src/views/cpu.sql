CREATE VIEW cpu AS SELECT DISTINCT cpu AS id, cpu AS ucpu, cpu FROM turns
