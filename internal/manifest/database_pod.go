package manifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
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
	// databaseSecretMode lets the pod's group read the password, which the
	// kubelet makes the owner of it.
	databaseSecretMode = int32(0o440)
	// graceSeconds is what the collector needs to publish, after the database
	// has been shut down.
	graceSeconds = int64(60)
)

// withDatabase changes the pod of a load into one whose loader drives a
// database: it runs in the user's image, because that has Oracle's client, and
// for a database of the run's own in the one that the database runs in.
func withDatabase(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, images Images) {
	spec.SecurityContext = databasePodSecurity()
	spec.Containers = []corev1.Container{oracleLoader(b, images)}
	before := []corev1.Container{tools(images)}
	if c := b.Spec.Database.Container; c != nil {
		if c.SetPermissions != v1alpha1.Disabled {
			before = append(before, permissions(b, images))
		}
		spec.InitContainers = append(spec.InitContainers, database(b, images))
		grace := int64(c.ShutdownTimeoutSeconds) + graceSeconds
		spec.TerminationGracePeriodSeconds = &grace
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: memoryVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: sharedMemory(c)},
		}})
	}
	spec.InitContainers = slices.Concat(before, spec.InitContainers)
	spec.Volumes = append(spec.Volumes, emptyDir(toolsVolume, nil), emptyDir(tmpVolume, nil), credentialsVolume(b))
	if claim := kitClaim(b); claim != "" {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: kitVolume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: true},
		}})
	}
}

// databasePodSecurity runs everything as the user oracle: containers share
// files, and the password is for its group. Volumes whose root belongs to it
// already are not walked through.
func databasePodSecurity() *corev1.PodSecurityContext {
	yes, user, mismatch := true, oracleUser, corev1.FSGroupChangeOnRootMismatch
	return &corev1.PodSecurityContext{
		RunAsNonRoot:        &yes,
		RunAsUser:           &user,
		RunAsGroup:          &user,
		FSGroup:             &user,
		FSGroupChangePolicy: &mismatch,
		SupplementalGroups:  []int64{dbaGroup},
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// tools copies our programs to where containers of the user's image find them.
func tools(images Images) corev1.Container {
	c := container(ContainerTools, images, "install", "--to", toolsDir)
	c.Resources = modest("20m", "32Mi")
	c.VolumeMounts = []corev1.VolumeMount{{Name: toolsVolume, MountPath: toolsDir}}
	return c
}

// permissions gives an empty volume, or one of ours, to the user oracle. It is root with
// the capabilities for that and no others; if the server squashes root, the program warns.
func permissions(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	root, no := int64(0), false
	c := container(ContainerPermissions, images, "permissions", "--directory", plan.DataDirectory(b),
		"--owner", "54321:54321")
	c.Resources = modest("20m", "32Mi")
	c.SecurityContext.RunAsUser, c.SecurityContext.RunAsGroup, c.SecurityContext.RunAsNonRoot = &root, &root, &no
	c.SecurityContext.Capabilities.Add = []corev1.Capability{"CHOWN", "FOWNER", "DAC_OVERRIDE"}
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
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: kitVolume, MountPath: plan.KitPath, ReadOnly: true})
	}
	return c
}

// credentialsVolume holds the keys that the loader needs, and no other of the
// Secret.
func credentialsVolume(b *v1alpha1.NFSBenchmark) corev1.Volume {
	mode := databaseSecretMode
	secret := &corev1.SecretVolumeSource{DefaultMode: &mode}
	if x := b.Spec.Database.External; x != nil {
		secret.SecretName = x.CredentialsSecretRef.Name
		secret.Items = []corev1.KeyToPath{{Key: usernameFile, Path: usernameFile}, {Key: passwordFile, Path: passwordFile}}
	} else {
		c := b.Spec.Database.Container
		secret.SecretName = c.PasswordSecretRef.Name
		secret.Items = []corev1.KeyToPath{{Key: passwordKey(c), Path: passwordFile}}
	}
	return corev1.Volume{Name: databaseCreds, VolumeSource: corev1.VolumeSource{Secret: secret}}
}

// kitClaim is the claim with the user's SLOB kit; empty where there is none.
func kitClaim(b *v1alpha1.NFSBenchmark) string {
	if w := b.Spec.Workload.SLOB; w != nil && w.Kit != nil {
		return w.Kit.ClaimName
	}
	return ""
}
