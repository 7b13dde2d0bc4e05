/* nfsbench calibrate */
-- releases: all
BEGIN
    dbms_resource_manager.calibrate_io(
        num_physical_disks => :1,
        max_latency => :2,
        max_iops => :3,
        max_mbps => :4,
        actual_latency => :5
    );
END;
