package pass

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Head returns the first items of a list that is sorted by importance.
func Head[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// Clip joins a message, which API servers may break into lines, into one line, and bounds it to the limit of the CRDs.
func Clip(s string) string { return ClipTo(OneLine(s), 1000) }

// OneLine replaces all white space between words with single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ClipTo bounds s to limit bytes, and marks the cut.
func ClipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && s[cut]&0xc0 == 0x80 { // not in the middle of a character
		cut--
	}
	return s[:cut] + mark
}

// MaxSpecBytes bounds the spec of a benchmark and of a suite: the manager keeps all of them in memory.
const MaxSpecBytes = 64 << 10

// MaxCachedBytes bounds the cached copy of an object that the operator makes, other than a ConfigMap: twice the size of
// the largest spec, because a Job and its pods repeat the spec.
const MaxCachedBytes = 2 * MaxSpecBytes

// annotationSpecBytes is an annotation of cached objects only. If a user sets it, the cache drops it.
const annotationSpecBytes = "nfsbench.io/spec-bytes"

// SpecBytes estimates the memory of a spec: its size as JSON, and 32 bytes for each member.
func SpecBytes(spec any) (int, error) {
	text, err := json.Marshal(spec)
	return len(text) + 32*bytes.Count(text, []byte(",")), err
}

// TooLarge returns the annotations of a cached object whose spec is too large; the caller replaces the spec by none.
// For any other object it returns nil. An informer may transform an object twice.
func TooLarge(spec, none any, annotations map[string]string) (map[string]string, error) {
	if size, dropped := annotations[annotationSpecBytes]; dropped && equality.Semantic.DeepEqual(spec, none) {
		return map[string]string{annotationSpecBytes: size}, nil
	}
	size, err := SpecBytes(spec)
	if err != nil || size <= MaxSpecBytes {
		return nil, err
	}
	return map[string]string{annotationSpecBytes: strconv.Itoa(size)}, nil
}

// CheckSize returns an *Invalid for an object that has the annotations of TooLarge.
func CheckSize(obj client.Object) error {
	size, dropped := obj.GetAnnotations()[annotationSpecBytes]
	if !dropped {
		return nil
	}
	return &Invalid{Reason: v1alpha1.ReasonInvalidSpec, Err: fmt.Errorf("spec takes %s bytes, as JSON and with 32 bytes "+
		"for each member, and the operator takes %d: leave out what the run does not need", size, MaxSpecBytes)}
}

// LongestName is the longest name of an object.
const LongestName = 253

// Pick returns the values that from has for some keys, each cut to the length of a name; nil if it has none. Labels and
// annotations may be as large as the API server accepts.
func Pick(from map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := from[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = ClipTo(value, LongestName)
		}
	}
	return out
}
