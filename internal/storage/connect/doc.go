// Package connect makes the storage source that a plan or a survey names.
package connect
