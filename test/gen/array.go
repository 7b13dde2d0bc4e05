package gen

import (
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ONTAP lets the array be asked, with the credentials in a Secret.
func ONTAP(managementLIF, svm, secret string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Array = &v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{
			ManagementLIF: managementLIF, SVM: svm, CredentialsSecretRef: v1alpha1.SecretReference{Name: secret},
			TLS: v1alpha1.TLSTrust{Verification: v1alpha1.Enabled},
		}}
	}
}

// Exporter reads the counters of a Linux server, which needs no credentials.
func Exporter(name, url string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Array = &v1alpha1.ArrayAccess{Exporter: &v1alpha1.ExporterAccess{Nodes: []v1alpha1.ExporterNode{{Name: name, URL: url}}}}
	}
}

// Select chooses the paths by where they end on the array.
func Select(s v1alpha1.PathSelection) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Paths = &v1alpha1.Paths{Select: s} }
}

// Survey is what an array of two nodes, a and b, reports about itself: the volume of
// the export is on node a, and each node has a LIF in a subnet of its own.
func Survey(export, lifA, lifB string) runfile.Survey {
	yes := new(true)
	return runfile.Survey{
		Version: runfile.SurveyVersion, Source: "ontap", Array: "ONTAP 9.14.1, cluster c1, SVM svm1",
		Time:    time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Clients: []string{"10.244.0.5", "192.168.0.7"},
		Nodes:   []runfile.SurveyNode{{Name: "a", Up: yes}, {Name: "b", Up: yes}},
		LIFs: []runfile.LIF{
			{Name: "lif_a", Address: lifA, Prefix: 24, Node: "a", HomeNode: "a", AtHome: yes, Up: yes},
			{Name: "lif_b", Address: lifB, Prefix: 24, Node: "b", HomeNode: "b", AtHome: yes, Up: yes},
		},
		Volume: &runfile.SurveyVolume{
			Name: "oradata", UUID: "c5a6", Export: export, Style: "flexvol", State: "online", Aggregate: "aggr_a", Node: "a",
			SizeBytes: new(int64(1 << 40)), AvailableBytes: new(int64(1 << 39)), ExportPolicy: "default",
		},
		NFS: &runfile.NFSService{Enabled: yes, V3: yes, V40: yes, V41: yes, PNFS: new(false), TransferSizeBytes: new(int64(1 << 20))},
		Rules: []runfile.ExportRule{{
			Index: 1, Clients: []string{"0.0.0.0/0"}, Protocols: []string{"any"}, ReadOnly: []string{"any"}, ReadWrite: []string{"any"}, SuperUser: []string{"any"},
		}},
	}
}
