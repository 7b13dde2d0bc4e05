/* nfsbench awr_snapshot */
-- releases: all
-- Needs the Diagnostics Pack: only where the user says so.
BEGIN
    dbms_workload_repository.create_snapshot();
END;
