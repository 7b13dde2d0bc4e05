package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The specs with a database that the cases start from.
const (
	calibrateSpec = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {calibrate: {}}}`
	slobSpec      = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {slob: {access: RandomRead}}}`
	containerSpec = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {slob: {access: RandomRead}},
		database: {container: {image: "registry.example/oracle:19", passwordSecretRef: {name: oracle}}}}`
	externalSpec = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {calibrate: {}},
		database: {external: {connectString: "scan.example:1521/ORCL", credentialsSecretRef: {name: sys}, image: "registry.example/instantclient:23"}}}`
)

// databaseRefusals are those of databases, and of the loads for them.
func databaseRefusals() map[string]refusal {
	slob := func(path string) string { return "workload.slob." + path }
	in := func(path string) string { return "database.container." + path }
	raw := map[string]any{"pattern": "Read"}
	embedded := map[string]any{"embedded": map[string]any{"size": "256Mi"}}
	trident := func(size string) map[string]any {
		return map[string]any{"trident": map[string]any{"size": size, "storageClassName": "gold"}}
	}
	class := func(size string) map[string]any {
		return map[string]any{"storageClass": map[string]any{"size": size, "name": "gold"}}
	}
	calibrate := map[string]any{"calibrate": map[string]any{"databaseSize": "64Gi"}}
	memory := func(size string) map[string]any {
		return map[string]any{"limits": map[string]any{"memory": size}}
	}
	return map[string]refusal{
		"NoWorkload":   {"give exactly one of workload.raw, workload.calibrate", embeddedSpec, fields{"workload.raw": nil}, fields{}},
		"TwoWorkloads": {"give exactly one of workload.raw, workload.calibrate", calibrateSpec, fields{"workload.raw": raw}, fields{"workload.calibrate": nil, "workload.raw": raw}},
		"RawInADatabase": {
			"workload.raw is a load without a database", containerSpec,
			fields{"workload": map[string]any{"raw": raw}},
			fields{"workload": map[string]any{"raw": raw}, "database": nil},
		},
		"TwoDatabases": {
			"give exactly one of database.container and database.external", externalSpec,
			fields{"database.container": map[string]any{"image": "x", "passwordSecretRef": map[string]any{"name": "p"}}},
			fields{},
		},
		"NoDatabase": {"give exactly one of database.container and database.external", externalSpec, fields{"database.external": nil}, fields{"database": nil}},
		"Interface": {
			"an oranfstab has addresses and no interfaces", containerSpec,
			fields{"protocol.client": "DirectNFS", "protocol.paths": explicit(via("net1", "10.0.1.61"))},
			fields{"protocol.client": "DirectNFS", "protocol.paths": explicit([2]string{"10.0.1.5", "10.0.1.61"})},
		},
		"ClientsOfOne":     {"a database is loaded by one client", containerSpec, fields{"clients": int64(2)}, fields{"clients": int64(1)}},
		"ClientsCalibrate": {"a native calibrate raises the load of one client", calibrateSpec, fields{"clients": int64(2)}, fields{"clients": int64(1)}},
		"ExternalEmbedded": {"database.external has its data where it is", externalSpec, fields{"storage": embedded}, fields{"storage": map[string]any{"claim": map[string]any{"name": "data"}}}},
		"ExternalTrident":  {"database.external has its data where it is", externalSpec, fields{"storage": trident("10Gi")}, fields{}},
		"OtherDirectory": {
			"database.external.tablespaceDirectory must lie on the export under test", externalSpec,
			fields{"database.external.mountPath": "/u02", "database.external.tablespaceDirectory": "/u021"},
			fields{"database.external.mountPath": "/u02", "database.external.tablespaceDirectory": "/u02/bench"},
		},
		"DirectoryOfNoMount": {
			"database.external.tablespaceDirectory must lie on the export under test", externalSpec,
			fields{"database.external.tablespaceDirectory": "/u02"},
			fields{"database.external.mountPath": "/u02", "database.external.tablespaceDirectory": "/u02"},
		},
		"CalibrateWithoutSYSDBA": {
			"CALIBRATE_IO needs SYSDBA", externalSpec,
			fields{"database.external.role": "None"},
			fields{"database.external.role": "None", "workload": map[string]any{"slob": map[string]any{"access": "RandomRead"}}},
		},
		"NoOranfstabNative": {
			"protocol.oranfstab is about Oracle's Direct NFS", slobSpec,
			fields{"protocol.oranfstab": "Disabled", "storage.export.servers": []any{"10.0.1.61"}},
			fields{"protocol.oranfstab": "Enabled"},
		},
		"NoOranfstabTwoServers": {
			"without an oranfstab Oracle's Direct NFS uses the one address of the mount: give one server", containerSpec,
			fields{"protocol.oranfstab": "Disabled"},
			fields{"protocol.oranfstab": "Disabled", "protocol.paths": explicit("10.0.2.61")},
		},
		"NoOranfstabClaim": {
			"without an oranfstab Oracle's Direct NFS uses the one address of the mount: give one server", containerSpec,
			fields{"protocol.oranfstab": "Disabled", "storage": map[string]any{"claim": map[string]any{"name": "data"}}, "protocol.paths": explicit("10.0.1.61")},
			fields{"protocol.oranfstab": "Disabled", "storage": map[string]any{"claim": map[string]any{"name": "data"}}},
		},
		"NoOranfstabV41": {
			"without an oranfstab Oracle's Direct NFS speaks NFSv3", containerSpec,
			fields{"protocol.oranfstab": "Disabled", "protocol.version": "NFSv4.1", "storage.export.servers": []any{"10.0.1.61"}},
			fields{"protocol.oranfstab": "Disabled", "protocol.version": "NFSv3", "storage.export.servers": []any{"10.0.1.61"}},
		},
		"NoOranfstabLocal": {
			"without an oranfstab Oracle's Direct NFS uses the one address of the mount: leave out", containerSpec,
			fields{"protocol.oranfstab": "Disabled", "protocol.paths": explicit([2]string{"192.168.1.5", "10.0.1.61"})},
			fields{"protocol.oranfstab": "Disabled", "protocol.paths": explicit("10.0.1.61")},
		},
		"WorkLoopNative": {
			"workload.slob.workLoop counts statements in a database", slobSpec,
			fields{slob("workLoop"): int64(1000)},
			fields{slob("workLoop"): int64(1000), "database": map[string]any{"container": map[string]any{"image": "x", "passwordSecretRef": map[string]any{"name": "p"}}}},
		},
		"CalibratedSizeOfAnothersDatabase": {
			"workload.calibrate.databaseSize is for a database of the run's own", externalSpec,
			fields{"workload.calibrate.databaseSize": "64Gi"},
			fields{},
		},
		"CalibratedSizeOfPages": {
			"workload.calibrate.databaseSize must be a multiple of 1Mi from 64Mi", containerSpec,
			fields{"workload": map[string]any{"calibrate": map[string]any{"databaseSize": "64Ki"}}},
			fields{"workload": map[string]any{"calibrate": map[string]any{"databaseSize": "64Gi"}}},
		},
		"SmallRedo": {
			"database.container.redoLogSize must be a multiple of 1Mi from 64Mi", containerSpec,
			fields{in("redoLogSize"): "63Mi"},
			fields{in("redoLogSize"): "64Mi"},
		},
		"RedoPathWithoutDatabase": {
			"storage.export.redoPath is for the redo logs of a database that the run starts", containerSpec,
			fields{"storage.export.redoPath": "/vol/redo", "database": nil},
			fields{"storage.export.redoPath": "/vol/redo"},
		},
		"RedoPathExternal": {
			"storage.export.redoPath is for the redo logs of a database that the run starts", externalSpec,
			fields{"storage.export.redoPath": "/vol/redo"},
			fields{},
		},
		"RedoPathOfTheData": {
			"storage.export.redoPath is the export of storage.export.path", containerSpec,
			fields{"storage.export.redoPath": "/vol"},
			fields{"storage.export.redoPath": "/redo"},
		},
		"RedoPathOfAnExistingDatabase": {
			"storage.export.redoPath would drop the redo logs of a database", containerSpec,
			fields{"storage.export.redoPath": "/redo", in("existingDatabase"): "Use"},
			fields{in("existingDatabase"): "Use"},
		},
		"RedoSizeOfAnExistingDatabase": {
			"database.container.redoLogSize would drop the redo logs of a database", containerSpec,
			fields{in("redoLogSize"): "64Mi", in("existingDatabase"): "Use"},
			fields{in("redoLogSize"): "64Mi", in("existingDatabase"): "Refuse"},
		},
		"LargeUndo": {
			"database.container.undoSize must be a multiple of 1Mi from 64Mi to 32767Mi", containerSpec,
			fields{in("undoSize"): "32Gi"},
			fields{in("undoSize"): "32767Mi"},
		},
		"RedoOnTrident": {
			"the storage has no room for the database, four redo logs of database.container.redoLogSize", containerSpec,
			fields{"storage": trident("8Gi"), in("redoLogSize"): "1Gi", in("undoSize"): "4Gi"},
			fields{"storage": trident("9Gi"), in("redoLogSize"): "1Gi", in("undoSize"): "4Gi"},
		},
		"CalibrationOnTrident": {
			"undoSize and workload.calibrate.databaseSize", containerSpec,
			fields{"storage": trident("72Gi"), "workload": calibrate, in("redoLogSize"): "1Gi", in("undoSize"): "4Gi"},
			fields{"storage": trident("73Gi"), "workload": calibrate, in("redoLogSize"): "1Gi", in("undoSize"): "4Gi"},
		},
		"CalibrationOnAClass": {
			"undoSize and workload.calibrate.databaseSize", containerSpec,
			fields{"storage": class("64Gi"), "workload": calibrate},
			fields{"storage": class("65Gi"), "workload": calibrate},
		},
		"UndoOnEmbedded": {
			"the storage has no room for the database, four redo logs of database.container.redoLogSize", containerSpec,
			fields{"storage": embedded, in("undoSize"): "256Mi"},
			fields{"storage": embedded, in("undoSize"): "128Mi"},
		},
		"HostNetworkEmbedded": {
			"storage.embedded admits the pods of the benchmark only", embeddedSpec,
			fields{"pods.hostNetwork": "Enabled"},
			fields{"pods.hostNetwork": "Disabled"},
		},
		"LabelOfTheOperator": {
			"labels with the prefixes nfsbench.io/, app.kubernetes.io/", embeddedSpec,
			fields{"pods.labels": map[string]any{"app.kubernetes.io/name": "x"}},
			fields{"pods.labels": map[string]any{"team": "x"}},
		},
		"LabelOfAJob": {
			"labels with the prefixes nfsbench.io/, app.kubernetes.io/", embeddedSpec,
			fields{"pods.labels": map[string]any{"job-name": "x"}},
			fields{"pods.labels": map[string]any{"job": "x"}},
		},
		"OtherUser":  {"a database runs as the user oracle", containerSpec, fields{"protocol.userID": int64(1000)}, fields{"protocol.userID": int64(54321)}},
		"OtherGroup": {"a database runs as the user oracle", containerSpec, fields{"protocol.groupID": int64(54322)}, fields{"database": nil, "protocol.groupID": int64(54322)}},
		"TwoServersV41": {
			"Oracle's Direct NFS uses several paths with NFSv3 only", containerSpec,
			fields{"protocol.version": "NFSv4.1"},
			fields{"protocol.version": "NFSv4.1", "storage.export.servers": []any{"10.0.1.61"}},
		},
		"TwoPathsV40": {
			"Oracle's Direct NFS uses several paths with NFSv3 only", containerSpec,
			fields{"protocol.version": "NFSv4.0", "protocol.paths": explicit("10.0.1.61", "10.0.2.61")},
			fields{"protocol.version": "NFSv4.0", "protocol.paths": explicit("10.0.2.61")},
		},
		"TwoPathsPNFS": {
			"Oracle's Direct NFS uses several paths with NFSv3 only", containerSpec,
			fields{"protocol.version": "NFSv4.1"},
			fields{"protocol.version": "pNFS"},
		},
		"FreeNotDeclared": {
			"database.container.image holds Oracle Free or Express", containerSpec,
			fields{in("image"): "container-registry.oracle.com/database/free:latest"},
			fields{in("image"): "container-registry.oracle.com/database/free:latest", in("edition"): "Free"},
		},
		"ExpressNotDeclared": {
			"database.container.image holds Oracle Free or Express", containerSpec,
			fields{in("image"): "container-registry.oracle.com/database/express:21.3.0-xe", in("edition"): "Standard"},
			fields{in("image"): "container-registry.oracle.com/database/enterprise:19.3.0.0", in("edition"): "Standard"},
		},
		"FreeSID": {
			"database.container.sid is fixed", containerSpec,
			fields{in("edition"): "Free", in("sid"): "BENCH"},
			fields{in("edition"): "Standard", in("sid"): "BENCH"},
		},
		"FreeTooSmall": {
			"Oracle Free and Express hold at most 12 GB", containerSpec,
			fields{in("edition"): "Free", slob("schemas"): int64(11), slob("scale"): "1025Mi"},
			fields{in("edition"): "Free", slob("schemas"): int64(11), slob("scale"): "1Gi"},
		},
		"FreeScan": {
			"Oracle Free and Express hold at most 12 GB", containerSpec,
			fields{in("edition"): "Express", slob("access"): "FullTableScan", slob("scanTableSize"): "12Gi"},
			fields{in("edition"): "Express", slob("access"): "RandomRead", slob("scanTableSize"): "12Gi"},
		},
		"Memory": {
			"database.container.resources.limits.memory is less than 2Gi", containerSpec,
			fields{in("resources"): memory("2047Mi")},
			fields{in("resources"): memory("2Gi")},
		},
		"SharedMemory":    {"database.container.sharedMemory must be at least 64Mi", containerSpec, fields{in("sharedMemory"): "63Mi"}, fields{in("sharedMemory"): "64Mi"}},
		"EnvironmentName": {"a name in database.container.environment must be", containerSpec, fields{in("environment"): map[string]any{"a-b": "c"}}, fields{in("environment"): map[string]any{"A_B": "c"}}},
		"EnvironmentPassword": {
			"database.container.environment must not set passwords", containerSpec,
			fields{in("environment"): map[string]any{"APP_USER_PASSWORD": "c"}},
			fields{in("environment"): map[string]any{"APP_USER": "c"}},
		},
		"EnvironmentPWD": {"database.container.environment must not set passwords", containerSpec, fields{in("environment"): map[string]any{"ORACLE_PWD": "c"}}, fields{in("environment"): map[string]any{"ENABLE_ARCHIVELOG": "true"}}},
		"EnvironmentSID": {"database.container.environment must not set passwords", containerSpec, fields{in("environment"): map[string]any{"ORACLE_SID": "c"}}, fields{in("environment"): map[string]any{"ORACLE_CHARACTERSET": "AL32UTF8"}}},
		"ParameterName": {
			"a name in database.container.parameters is not one", containerSpec,
			fields{in("parameters"): map[string]any{"SGA_TARGET": "1G"}},
			fields{in("parameters"): map[string]any{"_db_block_prefetch_limit": "0"}},
		},
		"ParameterValue": {
			"a value in database.container.parameters is empty or has other", containerSpec,
			fields{in("parameters"): map[string]any{"audit_trail": "NONE' scope=memory"}},
			fields{in("parameters"): map[string]any{"audit_trail": "DB, EXTENDED"}},
		},
		"ParameterEmpty": {
			"a value in database.container.parameters is empty or has other", containerSpec,
			fields{in("parameters"): map[string]any{"audit_trail": ""}},
			fields{in("parameters"): map[string]any{"audit_trail": "NONE"}},
		},
	}
}

// workloadRefusals are those of calibrate and SLOB.
func workloadRefusals() map[string]refusal {
	slob := func(path string) string { return "workload.slob." + path }
	embedded := map[string]any{"embedded": map[string]any{"size": "256Mi"}}
	calibrate := func(count int64) map[string]any {
		return map[string]any{"nativeFiles": map[string]any{"size": "64Mi", "count": count}}
	}
	kit := map[string]any{"directory": "/opt/slob"}
	return map[string]refusal{
		"KitWithoutADatabase": {"workload.slob.kit runs in a database", slobSpec, fields{slob("kit"): kit}, fields{}},
		"KitOutside":          {"workload.slob.kit.directory must not hold ..", containerSpec, fields{slob("kit"): map[string]any{"directory": "/a/../b"}}, fields{slob("kit"): map[string]any{"directory": "/a/b"}}},
		"KitNowhere": {
			"workload.slob.kit.directory must be an absolute path", containerSpec,
			fields{slob("kit"): map[string]any{"directory": "SLOB"}},
			fields{slob("kit"): map[string]any{"directory": "SLOB", "claimName": "kit"}},
		},
		"UsersAndThreads": {
			"workload.slob.users says how many sessions there are", slobSpec,
			fields{slob("users"): []any{int64(1), int64(2)}, slob("threadsPerSchema"): int64(2)},
			fields{slob("threadsPerSchema"): int64(2)},
		},
		"UsersTwice": {
			"a number is listed twice in workload.slob.users", slobSpec,
			fields{slob("users"): []any{int64(1), int64(2), int64(1)}},
			fields{slob("users"): []any{int64(16), int64(2), int64(1)}},
		},
		"Update51": {"workload.slob.updatePercent must be 0 to 50", slobSpec, fields{slob("updatePercent"): int64(51)}, fields{slob("updatePercent"): int64(50)}},
		"Update99": {"workload.slob.updatePercent must be 0 to 50", slobSpec, fields{slob("updatePercent"): int64(99)}, fields{slob("updatePercent"): int64(100)}},
		"UpdateScan": {
			"workload.slob.access FullTableScan only reads", slobSpec,
			fields{slob("access"): "FullTableScan", slob("updatePercent"): int64(10)},
			fields{slob("access"): "RandomRead", slob("updatePercent"): int64(10)},
		},
		"WorkUnit": {
			"workload.slob.workUnit is more than the blocks", slobSpec,
			fields{slob("scale"): "1Mi", slob("workUnit"): int64(129)},
			fields{slob("scale"): "1Mi", slob("workUnit"): int64(128)},
		},
		"Scale":     {"workload.slob.scale must be a multiple of 1Mi", slobSpec, fields{slob("scale"): "1500Ki"}, fields{slob("scale"): "2Mi"}},
		"ScanTable": {"workload.slob.scanTableSize must be a multiple of 1Mi", slobSpec, fields{slob("scanTableSize"): "1500Ki"}, fields{slob("scanTableSize"): "2Mi"}},
		"Think": {
			"workload.slob.think.maximumMilliseconds is less", slobSpec,
			fields{slob("think"): map[string]any{"frequency": int64(3), "minimumMilliseconds": int64(500), "maximumMilliseconds": int64(499)}},
			fields{slob("think"): map[string]any{"frequency": int64(3), "minimumMilliseconds": int64(500), "maximumMilliseconds": int64(500)}},
		},
		"FileSize": {
			"nativeFiles.size must be a multiple of 1Mi", calibrateSpec,
			fields{"workload.calibrate.nativeFiles.size": "1500Ki"},
			fields{"workload.calibrate.nativeFiles.size": "2Mi"},
		},
		"AWRWithoutADatabase": {
			"workload.slob.awr takes snapshots of a database", slobSpec,
			fields{slob("awr"): "Enabled"},
			fields{slob("awr"): "Disabled"},
		},
		"StorageTooSmallForSchemas": {
			"the storage is smaller than what workload.slob reads", slobSpec,
			fields{"storage": embedded, slob("schemas"): int64(4), slob("scale"): "65Mi"},
			fields{"storage": embedded, slob("schemas"): int64(4), slob("scale"): "64Mi"},
		},
		"StorageTooSmallForScans": {
			"the storage is smaller than what workload.slob reads", slobSpec,
			fields{"storage": map[string]any{"trident": map[string]any{"size": "1Gi", "storageClassName": "gold"}}, slob("access"): "FullTableScan", slob("scanTableSize"): "1025Mi"},
			fields{"storage": map[string]any{"trident": map[string]any{"size": "1Gi", "storageClassName": "gold"}}, slob("access"): "FullTableScan", slob("scanTableSize"): "1Gi"},
		},
		"StorageTooSmallForFiles": {
			"the storage is smaller than the files of workload.calibrate", calibrateSpec,
			fields{"storage": embedded, "workload.calibrate": calibrate(5)},
			fields{"storage": embedded, "workload.calibrate": calibrate(4)},
		},
		"ShortRamp": {
			"run.timeoutSeconds is shorter than the steps", slobSpec,
			fields{slob("users"): []any{int64(1), int64(2)}, "run": map[string]any{"timeoutSeconds": int64(159)}},
			fields{slob("users"): []any{int64(1), int64(2)}, "run": map[string]any{"timeoutSeconds": int64(160)}},
		},
	}
}

// aDatabase is one that a spec can have.
func aDatabase() map[string]any {
	return map[string]any{"container": map[string]any{"image": "registry.example/oracle:19", "passwordSecretRef": map[string]any{"name": "oracle"}}}
}

// TestADatabaseIsSettledOnceItExists: neither it nor its password changes under
// a run.
func TestADatabaseIsSettledOnceItExists(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	u := benchmarkOf(t, containerSpec, nil)
	u.SetNamespace(newNamespace(t, c))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for path, v := range map[string]any{"image": "other", "passwordSecretRef": map[string]any{"name": "other"}, "parameters": map[string]any{"a": "1"}} {
		changed := u.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, v, "spec", "database", "container", path); err != nil {
			t.Fatal(err)
		}
		if err := c.Update(t.Context(), changed, client.DryRunAll); err == nil || !strings.Contains(err.Error(), immutable) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	removed := u.DeepCopy()
	unstructured.RemoveNestedField(removed.Object, "spec", "database")
	if err := c.Update(t.Context(), removed, client.DryRunAll); err == nil || !strings.Contains(err.Error(), immutable) {
		t.Errorf("without its database: got %v", err)
	}
}

// TestNumbersOfADatabaseHaveBounds: what an image or Oracle would refuse later
// is refused now.
func TestNumbersOfADatabaseHaveBounds(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	cases := []struct {
		base, path string
		value      any
	}{
		{calibrateSpec, "workload.calibrate.maxLatencyMilliseconds", int64(9)},
		{calibrateSpec, "workload.calibrate.physicalDisks", int64(0)},
		{calibrateSpec, "workload.calibrate.nativeFiles.count", int64(0)},
		{slobSpec, "workload.slob.workUnit", int64(2)},
		{slobSpec, "workload.slob.users", []any{int64(1025)}},
		{slobSpec, "workload.slob.users", []any{}},
		{slobSpec, "workload.slob.tablespace", "A;B"},
		{slobSpec, "workload.slob.access", "Scan"},
		{containerSpec, "database.container.sid", "ORCLCDBORCLCD"},
		{containerSpec, "database.container.pdb", "A-B"},
		{containerSpec, "database.container.edition", "Personal"},
		{containerSpec, "database.container.startupTimeoutSeconds", int64(29)},
		{externalSpec, "database.external.connectString", "scott/tiger@db1:1521/ORCL"},
		{externalSpec, "database.external.connectString", "db1:1521"},
		{externalSpec, "database.external.services", []any{"(DESCRIPTION=)"}},
	}
	for _, tc := range cases {
		u := benchmarkOf(t, tc.base, fields{tc.path: tc.value})
		u.SetNamespace(ns)
		err := c.Create(t.Context(), u, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "spec."+tc.path) {
			t.Errorf("spec.%s = %v: got %v", tc.path, tc.value, err)
		}
	}
}

func TestDefaultsOfADatabase(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	cases := map[string]fields{
		containerSpec: {
			"database.container.edition": "Enterprise", "database.container.passwordSecretRef.key": "password", "database.container.setPermissions": "Enabled",
			"database.container.restartBeforeRun": "Enabled", "database.container.startupTimeoutSeconds": int64(2700), "database.container.shutdownTimeoutSeconds": int64(120),
			"workload.slob.schemas": int64(1), "workload.slob.threadsPerSchema": int64(1), "workload.slob.scale": "80Mi", "workload.slob.scanTableSize": "1Gi",
			"workload.slob.workUnit": int64(64), "workload.slob.redoStress": "Lite", "workload.slob.tablespace": "NFSBENCH", "workload.slob.awr": "Disabled",
			"workload.slob.obfuscateColumns": "Enabled", "workload.slob.loadParallelDegree": int64(2), "workload.slob.readAhead": int64(4),
		},
		calibrateSpec: {
			"workload.calibrate.physicalDisks": int64(100), "workload.calibrate.maxLatencyMilliseconds": int64(20), "workload.calibrate.warmupRuns": int64(1),
			"workload.calibrate.nativeFiles.count": int64(4), "workload.calibrate.nativeFiles.size": "1Gi", "workload.calibrate.nativeFiles.directory": "nfsbench",
		},
	}
	for base, want := range cases {
		u := benchmarkOf(t, base, nil)
		u.SetNamespace(ns)
		if err := c.Create(t.Context(), u, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		for path, v := range want {
			got, _, _ := unstructured.NestedFieldNoCopy(u.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
			if got != v {
				t.Errorf("default of spec.%s is %v, want %v", path, got, v)
			}
		}
	}
}
