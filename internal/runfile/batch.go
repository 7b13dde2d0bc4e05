package runfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The buckets of Batch.Latencies.
const (
	bucketsPerDoubling = 16
	// MaxBatchBucket is the last bucket, above the ten minutes that a histogram covers.
	MaxBatchBucket = 30 * bucketsPerDoubling
	// maxLatenciesBytes is the size of all buckets with the longest counts.
	maxLatenciesBytes = (MaxBatchBucket + 1) * len("480:9223372036854775807 ")
)

// BatchBucket returns the bucket of a latency: the first b with latencies up to 2^(b/16) microseconds.
func BatchBucket(microseconds int64) int {
	if microseconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(bucketsPerDoubling*math.Log2(float64(microseconds))-1e-9)), MaxBatchBucket)
}

// NewBatch makes a batch from counts by bucket. It puts the lower half of all operations into one
// bucket, because intervals only need the slow operations.
func NewBatch(milliseconds int64, counts []int64) Batch {
	b := Batch{Milliseconds: milliseconds}
	for _, n := range counts {
		b.Count += n
	}
	var text strings.Builder
	pending, seen := int64(0), int64(0)
	for bucket, n := range counts {
		pending, seen = pending+n, seen+n
		if n == 0 || seen < (b.Count+1)/2 {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(strconv.Itoa(bucket) + ":" + strconv.FormatInt(pending, 10))
		pending = 0
	}
	b.Latencies = text.String()
	return b
}

// Counts returns the operations of the batch by bucket, MaxBatchBucket+1 of them. It returns an
// error if NewBatch cannot have written the text.
func (b Batch) Counts() ([]int64, error) {
	if len(b.Latencies) > maxLatenciesBytes {
		return nil, fmt.Errorf("latencies of a batch: %d bytes; at most %d", len(b.Latencies), maxLatenciesBytes)
	}
	if b.Count < 0 || b.Milliseconds <= 0 {
		return nil, fmt.Errorf("batch of %d operations in %d ms", b.Count, b.Milliseconds)
	}
	counts := make([]int64, MaxBatchBucket+1)
	left, next := b.Count, 0
	for pair := range strings.FieldsSeq(b.Latencies) {
		name, number, _ := strings.Cut(pair, ":")
		bucket, err := strconv.Atoi(name)
		if err != nil || bucket < next || bucket > MaxBatchBucket {
			return nil, fmt.Errorf("latencies of a batch: %q; want buckets from %d to %d, ascending", pair, next, MaxBatchBucket)
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n <= 0 || n > left {
			return nil, fmt.Errorf("latencies of a batch: %q; want a count from 1, of %d operations in all", pair, b.Count)
		}
		counts[bucket], left, next = n, left-n, bucket+1
	}
	if left != 0 {
		return nil, fmt.Errorf("latencies of a batch: %d of %d operations are missing", left, b.Count)
	}
	return counts, nil
}

// MergeBatches merges neighbours pairwise, so that half as many remain. If a batch cannot be read,
// it returns none.
func MergeBatches(batches []Batch) []Batch {
	var out []Batch
	for i := 0; i < len(batches); i += 2 {
		milliseconds, sum := int64(0), make([]int64, MaxBatchBucket+1)
		for _, b := range batches[i:min(i+2, len(batches))] {
			counts, err := b.Counts()
			if err != nil {
				return nil
			}
			milliseconds += b.Milliseconds
			for bucket, n := range counts {
				sum[bucket] += n
			}
		}
		out = append(out, NewBatch(milliseconds, sum))
	}
	return out
}
