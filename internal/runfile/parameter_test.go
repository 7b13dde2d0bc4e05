package runfile_test

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestValuesOfParametersAreCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, asked, value string
		same               bool
	}{
		{"sga_target", "2G", "2147483648", true},
		{"log_buffer", "128m", "134217728", true},
		{"log_buffer", "128M", "134217729", false},
		{"timed_statistics", "true", "TRUE", true},
		{"filesystemio_options", "'SETALL'", "setall", true},
		{"db_cache_size", "40M", "50331648", true}, // rounded up to granules of 16 MiB
		{"db_cache_size", "40M", "33554432", false},
		{"db_cache_size", "40M", "104857600", false},
		{"db_cache_size", "1M", "4194304", true},
		{"processes", "500", "512", false},
		{"processes", "500", "500", true},
		{"x", "99999999999999T", "1", false},
		{"x", "a  b", " A B ", true},
		{"sga_target", "2G", "2147483648 (instance 1), 0 (instance 2)", false},
		{"sga_target", "SETALL", "setall", true},
		{"sga_target", " 'x' ", "X", true},
		{"sga_target", "554M", "580911104", true},
		{"sga_target", "554M", "583008256", true},
		{"sga_target", "554M", "580911103", false},
		{"sga_target", "1G", "2G", false},
		{"cpu_count", "4", "5", false},
		{"sga_target", "TRUE", "FALSE", false},
		{"sga_target", "1T", "1099511627776", true},
		{"sga_target", "", "1", false},
		{"sga_target", "9223372036854775807G", "1", false},
		{"sga_target", "M", "0", false},
		{"sga_target", "1g", "1610612735", true},
		{"sga_target", "1g", "1610612736", false},
	} {
		p := runfile.OracleParameter{Name: c.name, Requested: c.asked, Value: c.value}
		if got := p.AsRequested(); got != c.same {
			t.Errorf("%s: %q and %q are the same: %v", c.name, c.asked, c.value, got)
		}
	}
}
