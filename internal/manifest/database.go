package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The init containers of a pod that loads a database.
const (
	ContainerTools       = "tools"
	ContainerPermissions = "permissions"
)

const (
	toolsDir      = "/opt/nfsbench"
	toolsVolume   = "tools"
	memoryDir     = "/dev/shm"
	memoryVolume  = "memory"
	tmpDir        = "/tmp"
	tmpVolume     = "tmp"
	kitVolume     = "kit"
	passwordFile  = "password"
	usernameFile  = "username"
	databaseDir   = "/etc/nfsbench-database"
	databaseCreds = "database-credentials"
	// oracleUser and dbaGroup are the user oracle, with the group oinstall, and
	// the group dba of Oracle's packages and images.
	oracleUser = int64(54321)
	dbaGroup   = int64(54322)
	// databaseSecretMode lets the pod's group read the password: the kubelet sets that group on the file.
	databaseSecretMode = int32(0o440)
	// graceSeconds bounds the time of the collector to publish after the database has been shut down.
	graceSeconds = int64(60)
)

// withDatabase changes the pod of a load into one whose loader drives a database. The loader runs in the user's image,
// because that has Oracle's client: for a database of the run in the image of the database.
func withDatabase(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, images Images) {
	// All containers run as the user oracle: they share files, and the oracle group may read the password. The kubelet
	// does not walk through volumes whose root already belongs to the user.
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot:        new(true),
		RunAsUser:           new(oracleUser),
		RunAsGroup:          new(oracleUser),
		FSGroup:             new(oracleUser),
		FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		SupplementalGroups:  []int64{dbaGroup},
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	spec.Containers = []corev1.Container{oracleLoader(b, images)}
	before := []corev1.Container{tools(images)}
	if c := b.Spec.Database.Container; c != nil {
		if c.SetPermissions != bench.Disabled {
			before = append(before, permissions(b, images))
		}
		spec.Hostname = DatabaseHostname
		spec.InitContainers = append(spec.InitContainers, database(b, images))
		spec.TerminationGracePeriodSeconds = new(int64(c.ShutdownTimeoutSeconds) + graceSeconds)
		memory := c.SharedMemory
		if memory == nil { // half of the memory, for the SGA if the user enables automatic memory management
			memory = resource.NewQuantity(plan.InstanceOf(c).MemoryBytes/2, resource.BinarySI)
		}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: memoryVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: memory},
		}})
	}
	spec.InitContainers = slices.Concat(before, spec.InitContainers)
	spec.Volumes = append(spec.Volumes, emptyDir(toolsVolume, nil), emptyDir(tmpVolume, nil), credentialsVolume(b))
	if claim := kitClaim(b); claim != "" {
		spec.Volumes = append(spec.Volumes, claimVolume(kitVolume, claim, true))
	}
}

// tools copies the nfsbench programs into a volume for containers of the user's image.
func tools(images Images) corev1.Container {
	c := container(ContainerTools, images, "install", "--to", toolsDir)
	c.Resources = modest("20m", "32Mi")
	c.VolumeMounts = []corev1.VolumeMount{{Name: toolsVolume, MountPath: toolsDir}}
	return c
}

// permissions gives an empty volume, or one of the operator, to the user oracle. It runs as root with only the
// capabilities that it needs; if the server squashes root, the program warns.
func permissions(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	c := container(ContainerPermissions, images, "permissions", "--directory", plan.DataDirectory(b),
		"--owner", "54321:54321")
	if plan.RedoExport(b) != "" {
		c.Args = append(c.Args, "--directory", plan.RedoPath)
	}
	c.Resources = modest("20m", "32Mi")
	sc := c.SecurityContext
	sc.RunAsUser, sc.RunAsGroup, sc.RunAsNonRoot = new(int64), new(int64), new(false)
	sc.Capabilities.Add = []corev1.Capability{"CHOWN", "FOWNER", "DAC_OVERRIDE"}
	return c
}

// oracleLoader is the loader of a database, in an image of the user.
func oracleLoader(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	c := loader(b, images)
	c.Command = []string{toolsDir + "/oraload"}
	c.Args = []string{"--plan", planPath, "--run-dir", runDir, "--password-file", databaseDir + "/" + passwordFile}
	if x := b.Spec.Database.External; x != nil {
		c.Image = x.Image
		c.Args = append(c.Args, "--user-file", databaseDir+"/"+usernameFile)
	} else {
		c.Image = b.Spec.Database.Container.Image
	}
	// Oracle's client writes its diagnostics below ORACLE_BASE.
	c.SecurityContext.ReadOnlyRootFilesystem = nil
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: toolsVolume, MountPath: toolsDir, ReadOnly: true},
		corev1.VolumeMount{Name: databaseCreds, MountPath: databaseDir, ReadOnly: true},
		corev1.VolumeMount{Name: tmpVolume, MountPath: tmpDir},
	)
	if kitClaim(b) != "" {
		c.VolumeMounts = append(c.VolumeMounts, kitMount())
	}
	return c
}

// credentialsVolume mounts only the keys of the Secret that the loader needs.
func credentialsVolume(b *v1alpha1.NFSBenchmark) corev1.Volume {
	if x := b.Spec.Database.External; x != nil {
		return secretVolume(databaseCreds, x.CredentialsSecretRef.Name, databaseSecretMode,
			corev1.KeyToPath{Key: usernameFile, Path: usernameFile}, corev1.KeyToPath{Key: passwordFile, Path: passwordFile})
	}
	c := b.Spec.Database.Container
	return secretVolume(databaseCreds, c.PasswordSecretRef.Name, databaseSecretMode,
		corev1.KeyToPath{Key: passwordKey(c), Path: passwordFile})
}

func kitMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: kitVolume, MountPath: runfile.KitPath, ReadOnly: true}
}

// kitArgs returns the arguments that name the user's SLOB kit; none without a kit.
func kitArgs(b *v1alpha1.NFSBenchmark) []string {
	if w := b.Spec.Workload.SLOB; w != nil && w.Kit != nil {
		return []string{"--kit", runfile.KitDirectory(*w.Kit)}
	}
	return nil
}

// kitClaim returns the claim with the user's SLOB kit; empty if there is none.
func kitClaim(b *v1alpha1.NFSBenchmark) string {
	if w := b.Spec.Workload.SLOB; w != nil && w.Kit != nil {
		return w.Kit.ClaimName
	}
	return ""
}

// DatabaseHostname is the host name of each pod that runs a database: the images keep the name
// in files on the volume, and a listener does not start with the name of another host.
const DatabaseHostname = "nfsbench-database"

// ContainerDatabase is the sidecar that a database runs in.
const ContainerDatabase = "database"

const (
	probeSeconds = 10
	// probeTimeoutSeconds allows for a node that is busy creating the database.
	probeTimeoutSeconds = 30
	// probeSlack is the number of probes that may fail after the startup timeout of the database: the container itself
	// explains better than its probe why it is not ready.
	probeSlack = 6
	// defaultDatabaseMemory is the memory request if the user sets none.
	defaultDatabaseMemory = "4Gi"
)

// CleansFiles reports whether a run makes files of its own on the export, which a CleanJob removes. The files of a
// database belong to the database.
func CleansFiles(b *v1alpha1.NFSBenchmark) bool { return b.Spec.Database == nil }

// database returns the container that runs the user's image under supervision by nfsbench. It is a native sidecar, so
// the loader starts when the database is ready, and stops before the database.
func database(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	c := b.Spec.Database.Container
	i := plan.InstanceOf(c)
	out := container(ContainerDatabase, images, databaseArgs(b, i)...)
	out.Image, out.Command = c.Image, []string{toolsDir + binary}
	out.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	out.Env = databaseEnv(c, i)
	out.Resources = databaseResources(c)
	out.SecurityContext = databaseSecurity(b)
	out.StartupProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: []string{toolsDir + binary, "database", "--check", "--run-dir", runDir},
		}},
		PeriodSeconds:    probeSeconds,
		TimeoutSeconds:   probeTimeoutSeconds,
		FailureThreshold: (c.StartupTimeoutSeconds+probeSeconds-1)/probeSeconds + probeSlack,
	}
	out.VolumeMounts = []corev1.VolumeMount{
		{Name: toolsVolume, MountPath: toolsDir, ReadOnly: true},
		{Name: runVolume, MountPath: runDir},
		{Name: memoryVolume, MountPath: memoryDir},
		{Name: planVolume, MountPath: planDir, ReadOnly: true},
	}
	if kitClaim(b) != "" { // the supervisor checks the kit before it creates the database
		out.VolumeMounts = append(out.VolumeMounts, kitMount())
	}
	if isDirect(b) && b.Spec.Protocol.Oranfstab != bench.Disabled {
		// The file must not be mounted in ORACLE_HOME/dbs: newer images move that folder onto the volume.
		out.VolumeMounts = append(out.VolumeMounts, corev1.VolumeMount{
			Name: planVolume, MountPath: "/etc/oranfstab", SubPath: OranfstabKey, ReadOnly: true,
		})
	}
	return out
}

func isDirect(b *v1alpha1.NFSBenchmark) bool {
	return b.Spec.Protocol.Client == bench.ClientDirectNFS
}

// existing returns the argument that permits changes to a database that the run did not create.
func existing(c *v1alpha1.DatabaseContainer) []string {
	if c.ExistingDatabase == v1alpha1.ExistingDatabaseUse {
		return []string{"--use-existing"}
	}
	return nil
}

func databaseArgs(b *v1alpha1.NFSBenchmark, i plan.Instance) []string {
	c := b.Spec.Database.Container
	args := []string{
		"database", "--run-dir", runDir,
		"--direct-nfs=" + strconv.FormatBool(isDirect(b)),
		"--sid", i.SID,
		"--data", plan.DataDirectory(b),
		"--owner", fmt.Sprintf("%s/%s (UID %s)", b.Namespace, b.Name, b.UID),
		"--startup-timeout", seconds(c.StartupTimeoutSeconds),
		"--shutdown-timeout", seconds(c.ShutdownTimeoutSeconds),
	}
	if st := b.Spec.Storage.Export; st != nil {
		args = append(args, "--export", st.Path)
	}
	if export := plan.RedoExport(b); export != "" {
		args = append(args, "--redo", plan.RedoPath, "--redo-export", export)
	}
	args = append(args, "--plan", planPath) // for the servers and the parameters
	args = append(append(args, kitArgs(b)...), existing(c)...)
	for _, own := range []struct {
		flag    string
		command []string
	}{{"--start-command", c.Command}, {"--health-command", c.HealthCommand}} {
		if len(own.command) > 0 {
			array, _ := json.Marshal(own.command) // strings never fail
			args = append(args, own.flag, string(array))
		}
	}
	return args
}

func seconds(n int32) string { return strconv.Itoa(int(n)) + "s" }

// databaseEnv returns the environment that configures the image at its first start. The user's variables take
// precedence; the API refuses reserved names.
func databaseEnv(c *v1alpha1.DatabaseContainer, i plan.Instance) []corev1.EnvVar {
	values := imageEnv(c, i)
	maps.Copy(values, c.Environment)
	env := []corev1.EnvVar{{Name: "ORACLE_PWD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: c.PasswordSecretRef.Name}, Key: passwordKey(c),
	}}}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, corev1.EnvVar{Name: name, Value: values[name]})
	}
	return env
}

// imageEnv returns the variables that an image needs. Images of Oracle Free and Express have fixed names and no
// variables for memory sizes.
func imageEnv(c *v1alpha1.DatabaseContainer, i plan.Instance) map[string]string {
	if c.Edition == v1alpha1.EditionFree || c.Edition == v1alpha1.EditionExpress {
		return map[string]string{}
	}
	edition := "enterprise"
	if c.Edition == v1alpha1.EditionStandard {
		edition = "standard"
	}
	return map[string]string{
		"ORACLE_SID": i.SID, "ORACLE_PDB": i.PDB, "ORACLE_EDITION": edition,
		"INIT_SGA_SIZE": strconv.FormatInt(i.SGAMegabytes, 10), "INIT_PGA_SIZE": strconv.FormatInt(i.PGAMegabytes, 10),
		"INIT_CPU_COUNT": cmp.Or(string(c.Parameters["cpu_count"]), strconv.FormatInt(i.CPUs, 10)),
	}
}

func passwordKey(c *v1alpha1.DatabaseContainer) string {
	return cmp.Or(c.PasswordSecretRef.Key, passwordFile)
}

// databaseResources always requests memory, because the SGA size is derived from it.
func databaseResources(c *v1alpha1.DatabaseContainer) corev1.ResourceRequirements {
	if c.Resources == nil {
		return modest("500m", defaultDatabaseMemory)
	}
	r := *c.Resources.DeepCopy()
	_, limited := r.Limits[corev1.ResourceMemory]
	_, requested := r.Requests[corev1.ResourceMemory]
	if !limited && !requested {
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[corev1.ResourceMemory] = resource.MustParse(defaultDatabaseMemory)
	}
	return r
}

// databaseSecurity drops the privileges that the image does not need. Direct NFS gets its file handles and low ports
// through oradism, which is setuid root; without privilege escalation Direct NFS silently falls back to the kernel's
// NFS. The images of Oracle Free and Express create and start their database with su; without privilege escalation they
// do not start. In all other cases the container has no privileges.
//
// The defaults of container runtimes differ (CRI-O and Podman lack AUDIT_WRITE, without which su fails), so the
// capabilities are listed. Baseline Pod Security allows all of them. The database does not run as root: only oradism
// and su can use them.
func databaseSecurity(b *v1alpha1.NFSBenchmark) *corev1.SecurityContext {
	edition := b.Spec.Database.Container.Edition
	escalation := isDirect(b) || edition == v1alpha1.EditionFree || edition == v1alpha1.EditionExpress
	c := &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	if escalation {
		c.Add = []corev1.Capability{
			"SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_BIND_SERVICE", "AUDIT_WRITE",
		}
	}
	return &corev1.SecurityContext{AllowPrivilegeEscalation: &escalation, Capabilities: c}
}
