package ontap

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// clusterOnly follows a fix that an account of an SVM cannot have.
const clusterOnly = "; an account of an SVM cannot be given this: use the management LIF of the cluster and an " +
	"account of the cluster"

// fix is the command that lets the account read api.
func fix(api string) string {
	return fmt.Sprintf("security login rest-role create -role nfsbench -api %s -access readonly (nfsbench = the role "+
		"of the account)", api)
}

// fixMove is the command that lets the account move volumes. It changes what lets it read
// them; read_modify needs ONTAP 9.11.1.
func fixMove() string {
	return fmt.Sprintf("security login rest-role modify -role nfsbench -api %s -access read_modify (nfsbench = the "+
		"role of the account)%s", apiVolumes, clusterOnly)
}

// part is something that a survey can be without.
type part struct {
	what string
	api  string // to be allowed in the role
	// cluster: an account of an SVM never sees it.
	cluster bool
}

// missing says why a part is not known after err.
func (p part) missing(err error) runfile.MissingFact {
	m := runfile.MissingFact{What: p.what, Why: err.Error()}
	status, ok := errors.AsType[*rest.StatusError](err)
	if !ok || status.Status != http.StatusForbidden {
		return m
	}
	m.Why = fmt.Sprintf("the account may not read %s (403", p.api)
	if status.Code != "" {
		m.Why += ", code " + status.Code
	}
	m.Why += ")"
	m.Fix = fix(p.api)
	if p.cluster {
		m.Fix += clusterOnly
	}
	return m
}
