CREATE VIEW sched AS SELECT * FROM sched_slice
