package plan

import (
	"cmp"
	"maps"
	"net/netip"
	"path"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ArrayCredentials is the folder, below the folder of all secrets, with the keys of the array's Secret.
const ArrayCredentials = "array"

const (
	// arrayMilliseconds is the interval between queries of an array: the counters of ONTAP move every 15 s, and more
	// frequent queries load the array.
	arrayMilliseconds = 5000
	// The labels that distinguish Harvest's series.
	labelCluster = "cluster"
	labelSVM     = "svm"
	labelVolume  = "volume"
)

// ArraySource describes the array of a benchmark, as far as the target is known: a finished survey names the volume. It
// returns false if there is no array or its address is not known.
func ArraySource(b *v1alpha1.NFSBenchmark, t Target) (runfile.Source, bool) {
	a := b.Spec.Storage.Array
	if a == nil {
		return runfile.Source{}, false
	}
	s, ok := arraySource(a, t)
	s.IntervalMilliseconds = arrayMilliseconds
	if a.IntervalSeconds > 0 {
		s.IntervalMilliseconds = a.IntervalSeconds * 1000
	}
	return s, ok
}

// SurveyRequest returns what the array of a benchmark is asked before a run. It returns false if there is no array or
// its address is not known.
func SurveyRequest(b *v1alpha1.NFSBenchmark, t Target) (runfile.SurveyRequest, bool) {
	source, ok := ArraySource(b, t)
	return runfile.SurveyRequest{
		Version: runfile.SurveyVersion,
		Run:     runfile.Identity{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)},
		Source:  source, Export: t.Export, TimeoutSeconds: runfile.DefaultSurveySeconds,
	}, ok
}

func arraySource(a *v1alpha1.ArrayAccess, t Target) (runfile.Source, bool) {
	switch {
	case a.ONTAP != nil:
		return ontapSource(a.ONTAP, t)
	case a.FlashBlade != nil:
		return flashBladeSource(a.FlashBlade, t), true
	case a.Prometheus != nil:
		return prometheusSource(a.Prometheus, t), true
	case a.Exporter != nil:
		return exporterSource(a.Exporter), true
	default:
		return runfile.Source{}, false
	}
}

// SecretName returns the Secret with the credentials of a benchmark's array; empty if the array needs none.
func SecretName(b *v1alpha1.NFSBenchmark) string {
	switch a := b.Spec.Storage.Array; {
	case a == nil:
		return ""
	case a.ONTAP != nil:
		return a.ONTAP.CredentialsSecretRef.Name
	case a.FlashBlade != nil:
		return a.FlashBlade.CredentialsSecretRef.Name
	case a.Prometheus != nil && a.Prometheus.CredentialsSecretRef != nil:
		return a.Prometheus.CredentialsSecretRef.Name
	default:
		return ""
	}
}

// SecretUse is a Secret that a benchmark names, with the field that names it.
type SecretUse struct{ Field, Name string }

// SecretUses returns all Secrets that a benchmark names, all in its namespace.
func SecretUses(b *v1alpha1.NFSBenchmark) []SecretUse {
	var uses []SecretUse
	if name := SecretName(b); name != "" {
		uses = append(uses, SecretUse{"spec.storage.array", name})
	}
	if d := Container(b); d != nil {
		uses = append(uses, SecretUse{"spec.database.container.passwordSecretRef", d.PasswordSecretRef.Name})
	}
	if d := External(b); d != nil {
		uses = append(uses, SecretUse{"spec.database.external.credentialsSecretRef", d.CredentialsSecretRef.Name})
	}
	if p := b.Spec.Pods; p != nil {
		for _, s := range p.ImagePullSecrets {
			if s.Name != "" {
				uses = append(uses, SecretUse{"spec.pods.imagePullSecrets", s.Name})
			}
		}
	}
	return uses
}

// source returns the fields that all arrays share.
func source(kind, name string, tls v1alpha1.TLSTrust) runfile.Source {
	return runfile.Source{
		Kind: kind, Name: name, Credentials: ArrayCredentials, OneClient: true,
		CABundle: tls.CABundle, InsecureSkipVerify: tls.Verification == bench.Disabled,
	}
}

func ontapSource(o *v1alpha1.ONTAPAccess, t Target) (runfile.Source, bool) {
	s := source(runfile.SourceONTAP, "ontap", o.TLS)
	address := o.ManagementLIF
	s.SVM, s.Volume = o.SVM, volumeName(t)
	if t.Backend != nil {
		address, s.SVM = cmp.Or(address, t.Backend.ManagementLIF), cmp.Or(s.SVM, t.Backend.SVM)
	}
	s.URL = httpsURL(address)
	return s, address != "" && s.SVM != ""
}

func flashBladeSource(f *v1alpha1.FlashBladeAccess, t Target) runfile.Source {
	s := source(runfile.SourceFlashBlade, "flashblade", f.TLS)
	s.URL = httpsURL(f.ManagementVIP)
	s.Volume = cmp.Or(f.FileSystem, volumeName(t), strings.Trim(t.Export, "/"))
	return s
}

func prometheusSource(p *v1alpha1.PrometheusAccess, t Target) runfile.Source {
	s := source(runfile.SourcePrometheus, "prometheus", p.TLS)
	s.URL = p.URL
	if p.CredentialsSecretRef == nil {
		s.Credentials = ""
	}
	if h := p.Harvest; h != nil {
		s.Labels = map[string]string{labelCluster: h.Cluster, labelSVM: h.SVM}
		if v := cmp.Or(h.Volume, volumeName(t), lastPart(t.Export)); v != "" {
			s.Labels[labelVolume] = v
		}
	}
	if q := p.Queries; q != nil {
		s.Queries = map[string]string{
			"nodeCPUPercent": q.NodeCPUPercent,
			"readOperations": q.ReadOperations, "writeOperations": q.WriteOperations,
			"readBytes": q.ReadBytes, "writeBytes": q.WriteBytes,
			"readLatencyMicroseconds": q.ReadLatencyMicroseconds, "writeLatencyMicroseconds": q.WriteLatencyMicroseconds,
		}
		maps.DeleteFunc(s.Queries, func(_, query string) bool { return query == "" })
	}
	return s
}

func exporterSource(e *v1alpha1.ExporterAccess) runfile.Source {
	s := runfile.Source{Kind: runfile.SourceExporter, Name: "exporter", OneClient: true}
	for _, n := range e.Nodes {
		s.Nodes = append(s.Nodes, runfile.SourceNode{Name: n.Name, URL: n.URL})
	}
	return s
}

// volumeName returns the name of the volume on the array: from the survey, or else from Trident.
func volumeName(t Target) string {
	switch {
	case t.Survey != nil && t.Survey.Volume != nil:
		return t.Survey.Volume.Name
	case t.Backend != nil:
		return t.Backend.Volume
	default:
		return ""
	}
}

// httpsURL returns the URL of an array's management. It adds the brackets of an IPv6 address if the user left them out.
func httpsURL(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		address = "[" + address + "]"
	}
	return "https://" + address
}

func lastPart(export string) string {
	if last := path.Base(path.Clean("/" + export)); last != "/" {
		return last
	}
	return ""
}
