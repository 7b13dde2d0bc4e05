// Package trident builds and reads the objects of NetApp Trident, without a
// dependency on it: their CRDs have open schemas, so the API server checks
// nothing and what is written here is what Trident gets.
//
//	PVC .spec.volumeName ─▶ PV .spec.csi.volumeHandle ─▶ TridentVolume of that name
//	    .backendUUID ─▶ TridentBackend with that UUID ─▶ .configRef = UID of its TridentBackendConfig
//
// A name on the array is read (config.internalName) and never derived: name
// templates and imports change it. The functions are pure and safe for
// concurrent use.
package trident
