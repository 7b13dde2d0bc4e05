// Package storagetest is the conformance suite of storage.Source and storage.Surveyor,
// with a fake source that passes it.
package storagetest
