package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// validate expands the matrix and holds every cell against the schema, once for
// each generation. What is under way goes on under an invalid spec; nothing new
// begins.
func (r *Reconciler) validate(_ context.Context, s *scope) (next, error) {
	known := r.memory.of(s.suite.UID, s.suite.Generation)
	if known.matrix == nil && known.invalid == nil {
		m, err := matrix.Expand(s.suite)
		if err == nil {
			err = matrix.Check(m, s.suite, r.Checker)
		}
		known.matrix, known.invalid = &m, err
	}
	if err := known.invalid; err != nil {
		s.valid = &fact{reason: v1alpha1.ReasonInvalidSpec, message: errorLines(err)}
		return next{}, nil
	}
	s.matrix = known.matrix
	takes := time.Duration(matrix.EstimatedSeconds(*s.matrix)) * time.Second
	s.valid = &fact{ok: true, reason: v1alpha1.ReasonMatrixValid, message: fmt.Sprintf(
		"a run takes %s or longer; the seed of its order is %d", takes, s.matrix.Seed)}
	return next{}, nil
}

// errorLines puts joined errors on one line.
func errorLines(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
