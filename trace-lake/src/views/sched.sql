CREATE VIEW sched AS SELECT *, ts + dur AS ts_end FROM sched_slice
