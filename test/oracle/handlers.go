package oracle

import (
	"context"
	"regexp"
	"strings"
)

// right is what a statement asks of its user.
type right int

const (
	rightNone   right = iota
	rightViews        // the views of the dictionary
	rightSysdba       // AS SYSDBA
)

// entry is what answers a statement, and what its user must be.
type entry struct {
	do    handler
	needs right
}

// simple is for what depends on neither the session nor the statement.
func simple(rows func() []row) handler {
	return func(context.Context, *session, statement) ([]row, error) { return rows(), nil }
}

// handler finds what answers a statement, and what its user must be.
func (i *Instance) handler(name string) (handler, right) {
	entries := i.instanceEntry
	if strings.HasPrefix(name, "slob_") {
		entries = i.slobEntry
	}
	e := entries(name)
	return e.do, e.needs
}

// instanceEntry has the statements about the instance itself.
func (i *Instance) instanceEntry(name string) entry {
	return map[string]entry{
		"active_sessions":     {i.activeSessions, rightViews},
		"async_files":         {simple(i.fileRows), rightViews},
		"calibrate":           {i.calibrateIO, rightSysdba},
		"calibrate_result":    {i.calibrateResult, rightViews},
		"calibrate_result_23": {i.calibrateResult, rightViews},
		"calibrate_status":    {i.calibrateStatus, rightViews},
		"container_name":      {i.containerName, rightNone},
		"datafiles":           {i.datafiles, rightViews},
		"dnfs_channels":       {simple(i.channelRows), rightViews},
		"dnfs_files":          {simple(i.dnfsFileRows), rightViews},
		"dnfs_servers":        {simple(i.serverRows), rightViews},
		"dnfs_stats":          {simple(i.dnfsStatRows), rightViews},
		"event_histogram":     {simple(i.stats.histogramRows), rightViews},
		"instances":           {simple(i.instanceRows), rightViews},
		"iostat_file":         {simple(i.fileRows), rightViews},
		"osstat":              {simple(i.osRows), rightViews},
		"parameters":          {simple(i.params.rows), rightViews},
		"set_parameter":       {i.setParameter, rightViews},
		"sysstat":             {simple(i.stats.systemRows), rightViews},
		"system_event":        {simple(i.stats.eventRows), rightViews},
		"version":             {simple(i.versionRows), rightNone},
		"version_full":        {simple(i.versionRows), rightNone},
		"awr_snapshot":        {i.awrSnapshot, rightViews},
	}[name]
}

// slobEntry has those of a SLOB load.
func (i *Instance) slobEntry(name string) entry {
	return map[string]entry{
		"slob_direct_read_always":  {i.directRead, rightNone},
		"slob_direct_read_true":    {i.directRead, rightNone},
		"slob_full_scan":           {i.fullScan, rightNone},
		"slob_index_create":        {i.indexCreate, rightViews},
		"slob_load_obfuscated":     {i.load, rightViews},
		"slob_load_plain":          {i.load, rightViews},
		"slob_marker_create":       {i.tableCreate, rightViews},
		"slob_marker_delete":       {i.markerDelete, rightViews},
		"slob_marker_read":         {i.markerRead, rightViews},
		"slob_marker_write":        {i.markerWrite, rightViews},
		"slob_random_read":         {i.randomRead, rightNone},
		"slob_sample":              {simple(i.stats.systemRows), rightViews},
		"slob_schema_create":       {i.userCreate, rightViews},
		"slob_schema_drop":         {i.userDrop, rightViews},
		"slob_schema_grant":        {i.userGrant, rightViews},
		"slob_schema_password":     {i.userPassword, rightViews},
		"slob_schemas":             {i.schemas, rightViews},
		"slob_segment":             {i.segment, rightViews},
		"slob_system_file":         {i.systemFile, rightViews},
		"slob_table_create":        {i.tableCreate, rightViews},
		"slob_table_drop":          {i.tableDrop, rightViews},
		"slob_table_empty":         {i.tableEmpty, rightViews},
		"slob_table_minimize":      {i.tableMinimize, rightViews},
		"slob_tables":              {i.tables, rightViews},
		"slob_tablespace":          {i.tablespaceRow, rightViews},
		"slob_tablespace_create":   {i.tablespaceCreate, rightViews},
		"slob_tablespace_drop":     {i.tablespaceDrop, rightViews},
		"slob_tablespace_segments": {i.tablespaceSegments, rightViews},
		"slob_update_heavy":        {i.update, rightNone},
		"slob_update_lite":         {i.update, rightNone},
	}[name]
}

// setParameter is ALTER SYSTEM SET with SCOPE = SPFILE.
func (i *Instance) setParameter(_ context.Context, s *session, q statement) ([]row, error) {
	m := regexp.MustCompile(`(?i)^ALTER SYSTEM SET "?([\w$#]+)"? = (.*?) SCOPE = SPFILE`).FindStringSubmatch(q.text)
	if m == nil {
		return nil, ora(922, "missing or invalid option")
	}
	if s.container != 1 {
		return nil, ora(65040, "operation not allowed from within a pluggable database")
	}
	return nil, i.params.set(m[1], strings.Trim(m[2], "'"))
}

// directRead is ALTER SESSION SET "_serial_direct_read".
func (i *Instance) directRead(_ context.Context, s *session, _ statement) ([]row, error) {
	s.direct = true
	return nil, nil
}

// awrSnapshot counts as done: the stand-in has no repository.
func (i *Instance) awrSnapshot(context.Context, *session, statement) ([]row, error) {
	if !strings.Contains(i.params.get("control_management_pack_access"), "diagnostic") {
		return nil, ora(13516, "AWR Operation failed: the Diagnostics Pack is not licensed")
	}
	return []row{{"snap_id": int64(1)}}, nil
}
