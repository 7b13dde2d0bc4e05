package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Database is the Oracle database that the load runs in. Without one the native
// engine makes the same I/O with no Oracle and no licence.
//
// +kubebuilder:validation:XValidation:rule="has(self.container) != has(self.external)",message="give exactly one of database.container and database.external"
type Database struct {
	// container runs your Oracle image on the volume of spec.storage.
	// +optional
	Container *DatabaseContainer `json:"container,omitempty"`
	// external is a database that exists, RAC included.
	// +optional
	External *DatabaseExternal `json:"external,omitempty"`
}

// DatabaseContainer is an Oracle image of the user, run for this benchmark. Its
// licence is the user's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sid) || !(has(self.edition) ? self.edition in ['Free', 'Express'] : false)",message="database.container.sid is fixed in the images of Oracle Free (FREE) and Express (XE): leave it out"
// +kubebuilder:validation:XValidation:rule="!self.image.matches('(^|/)database/(free|express)([:@]|$)') || self.edition in ['Free', 'Express']",message="database.container.image holds Oracle Free or Express, as its name says: set database.container.edition to Free or Express"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || !quantity(string(self.resources.limits['memory'])).isLessThan(quantity('2Gi'))",message="database.container.resources.limits.memory is less than 2Gi, with which Oracle's images do not start: raise it"
// +kubebuilder:validation:XValidation:rule="!has(self.redoLogSize) || !has(self.existingDatabase) || self.existingDatabase != 'Use'",message="database.container.redoLogSize would drop the redo logs of a database that was not created for a benchmark: leave redoLogSize out, or set database.container.existingDatabase to Refuse and use an empty volume"
type DatabaseContainer struct {
	// image of the database, of container-registry.oracle.com or built by
	// oracle/docker-images, for example
	// container-registry.oracle.com/database/enterprise_ru:19.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// edition of the database. It decides the names of instance and pluggable
	// database, and how much memory and data they may have.
	// +optional
	// +default="Enterprise"
	Edition DatabaseEdition `json:"edition,omitempty"`
	// sid of the instance; ORCLCDB, FREE or XE without it.
	// +optional
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z][A-Za-z0-9]*$')`,message="write letters and digits, such as ORCLCDB"
	SID string `json:"sid,omitempty"`
	// pdb is the pluggable database that holds the schemas of a SLOB load;
	// ORCLPDB1, FREEPDB1 or XEPDB1 without it.
	// +optional
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z][A-Za-z0-9_]*$')`,message="write letters, digits and _, such as ORCLPDB1"
	PDB string `json:"pdb,omitempty"`
	// passwordSecretRef names a Secret of the namespace with the password that
	// SYS and SYSTEM get.
	// +required
	PasswordSecretRef SecretKeyReference `json:"passwordSecretRef"`
	// parameters are init parameters, for example db_cache_size: 128M. They are
	// set in the spfile, the instance is restarted, and they are read back into
	// the status. Without them sga_target is half of the memory and
	// pga_aggregate_target an eighth, cpu_count follows resources, and with the
	// kernel client filesystemio_options is SETALL. job_queue_processes is 0, and with
	// random reads so are the three hidden parameters that let Oracle read blocks in
	// batches or in advance.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z_][a-z0-9_]{0,79}$'))",message="a name in database.container.parameters is not one of an init parameter: use lower case letters, digits and _, such as db_cache_size"
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`
	// redoLogSize is the size of each online redo log, such as 1Gi. The database gets four of
	// this size, and the old ones are dropped. Without it, those of the image.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 67108864 && quantity(string(self)).asInteger() <= 68719476736 && quantity(string(self)).asInteger() % 1048576 == 0",message="database.container.redoLogSize must be a multiple of 1Mi from 64Mi to 64Gi, such as 1Gi"
	RedoLogSize *resource.Quantity `json:"redoLogSize,omitempty"`
	// undoSize is the least size, such as 4Gi, of the undo tablespace that the load uses: its
	// first datafile is made larger. Without it, that of the image.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 67108864 && quantity(string(self)).asInteger() <= 34358689792 && quantity(string(self)).asInteger() % 1048576 == 0",message="database.container.undoSize must be a multiple of 1Mi from 64Mi to 32767Mi, the most that a datafile takes, such as 4Gi"
	UndoSize *resource.Quantity `json:"undoSize,omitempty"`
	// environment is handed to the image as it is, for example
	// ORACLE_CHARACTERSET or ENABLE_ARCHIVELOG. Passwords do not belong here.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[A-Z][A-Z0-9_]*$'))",message="a name in database.container.environment must be of capital letters, digits and _"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.endsWith('PWD') && !k.contains('PASSWORD') && !(k in ['ORACLE_SID', 'ORACLE_PDB', 'ORACLE_HOME', 'LD_LIBRARY_PATH', 'PATH']))",message="database.container.environment must not set passwords, ORACLE_SID, ORACLE_PDB, ORACLE_HOME, LD_LIBRARY_PATH or PATH: use passwordSecretRef, sid and pdb"
	Environment map[string]string `json:"environment,omitempty"`
	// resources of the database container. Without a memory limit it asks for
	// 4Gi; SGA and PGA are derived from the limit.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// sharedMemory is the size of /dev/shm, such as 2Gi; without it, half of the memory.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('63Mi'))",message="database.container.sharedMemory must be at least 64Mi"
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty"`
	// existingDatabase selects what to do with a volume that holds files which
	// were not created for a benchmark: Refuse, or Use. Use opens the database
	// there, changes its init parameters for good and restarts it. The owner of
	// its files never changes; they must belong to 54321 or be writable for it.
	// +optional
	// +default="Refuse"
	ExistingDatabase ExistingDatabasePolicy `json:"existingDatabase,omitempty"`
	// setPermissions gives an empty volume, or one with a database that was created
	// for a benchmark, to the user oracle (54321) in a root init container, as far as
	// the storage permits it.
	// +optional
	// +default="Enabled"
	SetPermissions bench.Toggle `json:"setPermissions,omitempty"`
	// restartBeforeRun restarts the instance once it is configured and loaded,
	// so that its views start at zero and the oranfstab is read again.
	// +optional
	// +default="Enabled"
	RestartBeforeRun bench.Toggle `json:"restartBeforeRun,omitempty"`
	// command replaces the image's own start command, for images that are built
	// in another way.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command,omitempty"`
	// healthCommand replaces the image's own health script. The database is ready
	// when its exit code is 0 and the listener takes a connection on port 1521.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	HealthCommand []string `json:"healthCommand,omitempty"`
	// startupTimeoutSeconds until the database must be ready. The first start
	// creates it, which takes 10 to 30 minutes with images that bring no
	// database along.
	// +optional
	// +default=2700
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=14400
	StartupTimeoutSeconds int32 `json:"startupTimeoutSeconds,omitempty"`
	// shutdownTimeoutSeconds for SHUTDOWN IMMEDIATE at the end.
	// +optional
	// +default=120
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	ShutdownTimeoutSeconds int32 `json:"shutdownTimeoutSeconds,omitempty"`
}

// ParameterValue is the value of an init parameter.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_./:, +-]+$')",message="a value in database.container.parameters is empty or has other characters than letters, digits, blanks and _ . / : , + -: correct it"
type ParameterValue string

// DatabaseExternal is a database that exists. Its dNFS and its parameters are
// what they are: nfsbench changes neither, but proves which protocol it used.
//
// +kubebuilder:validation:XValidation:rule="!has(self.tablespaceDirectory) || (has(self.mountPath) && (self.tablespaceDirectory == self.mountPath || self.tablespaceDirectory.startsWith(self.mountPath + '/')))",message="database.external.tablespaceDirectory must lie on the export under test: give database.external.mountPath, and a directory below it"
type DatabaseExternal struct {
	// connectString of the root container for administration: EZConnect, such as
	// host:1521/service or tcps://host:2484/service, or a connect descriptor,
	// (DESCRIPTION=...). A wallet that it names must be in the image.
	// +required
	ConnectString ConnectString `json:"connectString"`
	// services are where the sessions of a SLOB load go, in turns: one for
	// each RAC instance. Without it, connectString.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Services []ConnectString `json:"services,omitempty"`
	// credentialsSecretRef names a Secret with the keys username and password
	// of the user that role describes.
	// +required
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// role that the user connects with: SYSDBA, or None for a user with the
	// privileges that a SLOB load needs; an error names those that are missing.
	// CALIBRATE_IO needs SYSDBA.
	// +optional
	// +default="SYSDBA"
	Role DatabaseRole `json:"role,omitempty"`
	// mountPath is where the database's host mounts the export under test, such
	// as /u02/oradata; with RAC it is the same on each node. The oranfstab in the
	// status names it as mount, and Direct NFS ignores a file that names another.
	// Without mountPath the status has no oranfstab. The datafiles of the SLOB
	// tablespace must lie below it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$')`,message="write an absolute path without blanks and without a / at its end, such as /u02/oradata"
	MountPath string `json:"mountPath,omitempty"`
	// tablespaceDirectory is where the datafile of the SLOB tablespace is made, on
	// the database's host: mountPath or a directory below it, writable for the
	// database. Without it, the directory of the datafile of SYSTEM. It has no
	// effect on a tablespace that exists.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$')`,message="write an absolute path without blanks and without a / at its end, such as /u02/oradata"
	TablespaceDirectory string `json:"tablespaceDirectory,omitempty"`
	// loadingWithRedo selects what to do if FORCE LOGGING is on: loading SLOB
	// tables then writes about as much redo as data. Refuse ends the run and says
	// how much redo it would be, Allow loads.
	// +optional
	// +default="Refuse"
	LoadingWithRedo LoadingWithRedoPolicy `json:"loadingWithRedo,omitempty"`
	// image holds an Oracle client (libclntsh), for example
	// ghcr.io/oracle/oraclelinux9-instantclient:23. The loader runs in it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
}

// ConnectString says how a client reaches a service of a database: EZConnect, with or
// without TLS, or a connect descriptor. It has no user, no password and no blanks.
//
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:XValidation:rule=`self.matches(r'^((tcps?://)?[A-Za-z0-9.:\[\]_-]+/[A-Za-z0-9._$#-]+(\?[A-Za-z0-9_=&./-]+)?|\([A-Za-z_]+=[A-Za-z0-9_.:,=()"/$#*-]+\))$')`,message="write HOST:PORT/SERVICE, such as db.example.com:1521/ORCLPDB1, or a descriptor in parentheses, without a user, a password and blanks"
type ConnectString string

// DatabaseRole is the role that an administrator connects with.
//
// +kubebuilder:validation:Enum=SYSDBA;None
type DatabaseRole string

// The roles.
const (
	RoleSYSDBA DatabaseRole = "SYSDBA"
	RoleNone   DatabaseRole = "None"
)

// LoadingWithRedoPolicy says what to do where loading would write redo.
//
// +kubebuilder:validation:Enum=Refuse;Allow
type LoadingWithRedoPolicy string

// The policies for loading with redo.
const (
	LoadingWithRedoRefuse LoadingWithRedoPolicy = "Refuse"
	LoadingWithRedoAllow  LoadingWithRedoPolicy = "Allow"
)

// SecretKeyReference names one key of a Secret in the same namespace. The Secret needs the
// label nfsbench.io/allow-use=true.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	Name string `json:"name"`
	// key of it.
	// +optional
	// +default="password"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[-._a-zA-Z0-9]+$')`,message="write the key of a Secret: letters, digits, -, _ and ., such as password"
	Key string `json:"key,omitempty"`
}

// ExistingDatabasePolicy says what to do with a database that was not created for
// a benchmark.
//
// +kubebuilder:validation:Enum=Refuse;Use
type ExistingDatabasePolicy string

// The policies for a database that exists.
const (
	ExistingDatabaseRefuse ExistingDatabasePolicy = "Refuse"
	ExistingDatabaseUse    ExistingDatabasePolicy = "Use"
)

// DatabaseEdition is an edition of Oracle Database.
//
// +kubebuilder:validation:Enum=Enterprise;Standard;Express;Free
type DatabaseEdition string

// The editions.
const (
	EditionEnterprise DatabaseEdition = "Enterprise"
	EditionStandard   DatabaseEdition = "Standard"
	EditionExpress    DatabaseEdition = "Express"
	EditionFree       DatabaseEdition = "Free"
)
