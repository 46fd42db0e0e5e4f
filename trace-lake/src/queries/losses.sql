SELECT process, reason, sum(records) AS dropped, count(*) AS reports
FROM losses
GROUP BY process, reason
ORDER BY dropped DESC, process, reason
