package diagnose

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAMountThatFailsIsToldByItsCause(t *testing.T) {
	const command = `MountVolume.SetUp failed for volume "v" : mount failed: exit status 32
Mounting command: mount
Mounting arguments: -t nfs -o hard,nfsvers=3 10.0.1.61:/vol/oradata /var/lib/kubelet/pods/x/volumes/kubernetes.io~nfs/v
Output: `
	cases := map[string]struct {
		told string
		want []string
	}{
		"no mount.nfs":  {command + "mount: /x: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.", []string{"node n1 has no NFS client", "nfs-common", "helper program"}},
		"no module":     {command + "mount.nfs: No such device", []string{"node n1 has no NFS client", "kernel module"}},
		"refused":       {command + "mount.nfs: access denied by server while mounting 10.0.1.61:/vol/oradata", []string{"check the server address", "export policy", "access denied by server"}},
		"another thing": {"Unable to attach or mount volumes: timed out", []string{"check the server address", "timed out"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{}
			p.Name, p.Spec.NodeName = "load-0", "n1"
			got := mountMessage(p, tc.told)
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in: %s", w, got)
				}
			}
			if strings.Contains(got, "Mounting arguments") {
				t.Errorf("the command hides the cause: %s", got)
			}
		})
	}
}
