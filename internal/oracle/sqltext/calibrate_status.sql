/* nfsbench calibrate_status */
-- releases: all
SELECT
    status,
    calibration_time
FROM v$io_calibration_status
