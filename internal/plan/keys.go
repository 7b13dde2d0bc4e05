package plan

import (
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// DeclaredKeys returns the keys of a target that the spec alone names: the array, if its address is declared, because
// the survey finds the addresses of a run too late for the queue; and an existing database, which two runs must not
// load at once.
func DeclaredKeys(b *v1alpha1.NFSBenchmark) []string {
	var keys []string
	switch a := b.Spec.Storage.Array; {
	case a == nil:
	case a.ONTAP != nil && a.ONTAP.ManagementLIF != "" && a.ONTAP.SVM != "":
		keys = append(keys, SVMKey(a.ONTAP.ManagementLIF, a.ONTAP.SVM))
	case a.FlashBlade != nil:
		keys = append(keys, "flashblade/"+strings.ToLower(trident.Bare(a.FlashBlade.ManagementVIP)))
	}
	if p := b.Spec.Protocol.Paths; p != nil && b.Spec.Storage.Embedded == nil {
		for _, path := range p.Explicit {
			keys = append(keys, ServerKeys([]string{path.Path})...)
		}
	}
	if d := External(b); d != nil {
		where, _, _ := strings.Cut(string(d.ConnectString), "?")
		keys = append(keys, "database/"+strings.ToLower(where))
	}
	return keys
}

// KnownKeys returns the keys of another benchmark, from its spec and its resolved status, without reading its volumes
// again. It leaves out the addresses that an array names: no run takes them as keys, and a tenant may have written
// them. Where the mount decides, the volume names an address.
func KnownKeys(o *v1alpha1.NFSBenchmark) []string {
	var keys, addresses []string
	st := o.Spec.Storage
	if st.Claim != nil {
		keys = append(keys, "claim/"+o.Namespace+"/"+st.Claim.Name)
	}
	if st.Trident != nil {
		keys = append(keys, TridentKey(st.Trident))
	}
	if st.StorageClass != nil {
		keys = append(keys, ClassKey(st.StorageClass.Name))
	}
	keys = append(keys, DeclaredKeys(o)...)
	if st.Export != nil {
		addresses = append(addresses, st.Export.Servers...)
	}
	ofVolume := IsForeign(o) && MountDecides(o.Spec.Protocol)
	if rs := o.Status.Resolved; rs != nil && st.Embedded == nil && (ofVolume || !HasSurvey(o)) {
		for _, p := range rs.Paths {
			addresses = append(addresses, p.Path)
		}
	}
	return DistinctKeys(append(keys, ServerKeys(addresses)...))
}

// DistinctKeys sorts keys, and removes those that are there twice.
func DistinctKeys(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// TridentKey returns the key of the target before Trident has made anything.
func TridentKey(t *v1alpha1.TridentStorage) string {
	if t.BackendName != "" {
		return "backend/" + t.BackendName
	}
	return ClassKey(t.StorageClassName)
}

// ClassOf returns the field of a spec that names a StorageClass, and the name; "" if no field does.
func ClassOf(st v1alpha1.Storage) (field, name string) {
	switch {
	case st.StorageClass != nil:
		return "spec.storage.storageClass.name", st.StorageClass.Name
	case st.Trident != nil && st.Trident.StorageClassName != "":
		return "spec.storage.trident.storageClassName", st.Trident.StorageClassName
	default:
		return "", ""
	}
}

// ClassKey returns the key of the target of a StorageClass.
func ClassKey(name string) string { return "class/" + name }

// SVMKey returns the key of an SVM of ONTAP.
func SVMKey(managementLIF, svm string) string {
	return "svm/" + strings.ToLower(trident.Bare(managementLIF)) + "/" + svm
}

// SVMKeys returns the key of the SVM of a backend, if the backend names one.
func SVMKeys(b *Backend) []string {
	if b == nil || b.ManagementLIF == "" || b.SVM == "" {
		return nil
	}
	return []string{SVMKey(b.ManagementLIF, b.SVM)}
}

// IsForeign reports whether the volume, and not the benchmark, names the storage.
func IsForeign(b *v1alpha1.NFSBenchmark) bool {
	st := b.Spec.Storage
	return st.Claim != nil || st.Trident != nil || st.StorageClass != nil
}

// HasSurvey reports whether the benchmark declares an array that the operator can query.
func HasSurvey(b *v1alpha1.NFSBenchmark) bool {
	a := b.Spec.Storage.Array
	return a != nil && (a.ONTAP != nil || a.FlashBlade != nil)
}
