// Package storagetest is the conformance suite of storage.Source, and a fake that passes it.
package storagetest
