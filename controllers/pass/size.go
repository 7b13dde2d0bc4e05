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

// Head returns the first items of a list, in which what matters most comes first.
func Head[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// Clip makes one line of a message, which API servers may break into several, and
// bounds it to what the CRDs allow.
func Clip(s string) string { return ClipTo(OneLine(s), 1000) }

// OneLine puts single spaces for whatever stands between words.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ClipTo bounds s to so many bytes, and marks where it was cut.
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

// annotationSpecBytes exists in the cache only, which keeps no annotation of that name from users.
const annotationSpecBytes = "nfsbench.io/spec-bytes"

// SpecBytes is about what a spec takes in memory: its text as JSON, and 32 bytes for each member.
func SpecBytes(spec any) (int, error) {
	text, err := json.Marshal(spec)
	return len(text) + 32*bytes.Count(text, []byte(",")), err
}

// TooLarge returns the annotations of a cached object whose spec is too large, and so is dropped: none is put in
// its place. They are nil for any other. An informer may transform an object twice.
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
