package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/internal/plan"
)

func TestAVolumeSaysWhichExportItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver     string
		attributes map[string]string
		want       string
	}{
		"csi-driver-nfs":       {"nfs.csi.k8s.io", map[string]string{"server": "a", "share": "/vol", "subDir": "pvc-1"}, "a:/vol/pvc-1"},
		"without a directory":  {"nfs.csi.k8s.io", map[string]string{"server": "a", "share": "/"}, "a:/"},
		"a driver like it":     {"nas.example", map[string]string{"server": "a", "share": "/vol"}, "a:/vol"},
		"PowerScale":           {"csi-isilon.dellemc.com", map[string]string{"AzServiceIP": "b", "Path": "/ifs/k8s"}, "b:/ifs/k8s"},
		"Filestore":            {"filestore.csi.storage.gke.io", map[string]string{"ip": "c", "volume": "vol1"}, "c:/vol1"},
		"names of another one": {"nas.example", map[string]string{"ip": "c", "volume": "vol1"}, ""},
		"brackets":             {"nfs.csi.k8s.io", map[string]string{"server": "[fd00::1]", "share": "/vol"}, "fd00::1:/vol"},
		"no server":            {"nfs.csi.k8s.io", map[string]string{"share": "/vol"}, ""},
	} {
		pv := &corev1.PersistentVolume{}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: c.driver, VolumeAttributes: c.attributes}
		server, export, ok := plan.ExportOfVolume(pv)
		if got := server + ":" + export; ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s, %t; want %s", name, got, ok, c.want)
		}
	}
}
