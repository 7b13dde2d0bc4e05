package publish

import (
	"bytes"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// totalBudgetBytes is what all clients of a run may take of their ConfigMap,
// which holds 1 MiB; the rest is for progress.
const totalBudgetBytes = 900 << 10

// Limits is how much a result may take. Zero is no limit.
type Limits struct {
	Bytes   int // packed
	Samples int // of each series
}

// Budget returns the packed bytes that each of the clients may take.
func Budget(clients int32) int { return totalBudgetBytes / int(max(clients, 1)) }

// Encode packs a result, thinned 2:1 until it is within the limits. It never
// leaves out repetitions or windows. When these alone exceed the limit, Encode
// returns the result without raw samples, and the error that says so: the
// bytes can be used.
func Encode(result runfile.Result, limits Limits) ([]byte, error) {
	for limits.Samples > 0 && sampleCount(result) > limits.Samples {
		thinner, changed := thin(result)
		if !changed {
			break
		}
		result = thinner
	}
	for {
		packed, err := pack(result)
		if err != nil || limits.Bytes == 0 || len(packed) <= limits.Bytes {
			return packed, err
		}
		thinner, changed := thin(result)
		if !changed {
			return encodeBare(result, limits)
		}
		result = thinner
	}
}

func encodeBare(result runfile.Result, limits Limits) ([]byte, error) {
	packed, err := pack(bare(result))
	if err == nil && len(packed) > limits.Bytes {
		err = fmt.Errorf("the result needs %d bytes without any samples and may take %d: use fewer repetitions or clients",
			len(packed), limits.Bytes)
	}
	return packed, err
}

func pack(result runfile.Result) ([]byte, error) {
	var out bytes.Buffer
	if err := runfile.WriteResultGzip(&out, result); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
