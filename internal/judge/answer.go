package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Answer says in plain words what most people want to know first.
type Answer struct {
	// Number is what was reached, such as "235.1 MB/s, 224 IOPS, 99.9 % of the wire limit of 235.3 MB/s".
	Number string `json:"number"`
	// Limit is what limited the load, such as "2 links of 1 Gbit/s were 99.7 % full; the storage may be faster". Empty
	// without a number.
	Limit string `json:"limit,omitempty"`
	// Enough says whether the numbers meet spec.expect, such as "yes (asked: at least 90 % of the wire limit)".
	Enough string `json:"enough"`
	// Trust says whether the numbers can be believed, such as "limited, the windows were short".
	Trust string `json:"trust"`
}

// String returns the answer as sentences.
func (a Answer) String() string {
	return strings.TrimSpace(sentence(a.Number) + " " + a.Sentences())
}

// Sentences returns the answer without the number, where people see that already.
func (a Answer) Sentences() string {
	if a == (Answer{}) {
		return ""
	}
	return strings.TrimSpace(sentence(a.Limit) + " Good enough: " + a.Enough + ". Trust: " + a.Trust + ".")
}

func sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

// answer puts the judgement into words.
func (c *facts) answer(j Judgement, o outcome) Answer {
	return Answer{
		Number: c.numberWords(j), Limit: c.limitWords(j.Findings), Enough: enoughWords(j, o), Trust: trustWords(j),
	}
}

// numberWords describes the numbers, and what a table of numbers does not show.
func (c *facts) numberWords(j Judgement) string {
	if q := c.limited; q != nil && len(q.Bounds) > 0 {
		return searchWords(*q)
	}
	if c.Overall == nil {
		return "no number was measured"
	}
	s := c.Overall
	words := fmt.Sprintf("%s, %d IOPS", human.Throughput(s.Total.BytesPerSecond), s.Total.OperationsPerSecond)
	switch {
	case s.Step != nil && s.Step.Kind == runfile.StepUsers && len(c.Steps) > 1:
		words += " with " + human.Count(s.Step.Users, "user")
		if knee := c.kneeStep(); knee != nil && knee.Users != s.Step.Users {
			words += fmt.Sprintf(", hardly more than with %d", knee.Users)
		}
	case len(c.Calibrations) > 0 && s.Total.Latency != nil:
		words += " at " + human.Latency(s.Total.Latency.MeanMicroseconds)
	}
	if s.WirePermille != nil {
		words += ", " + human.Share(*s.WirePermille) + " of the wire limit of " + human.Throughput(c.wireLimit(s))
	}
	if j.Indirect != "" {
		words += ". " + j.Indirect
	}
	return words
}

// wireLimit returns the limit of the busier direction, in bytes/s.
func (c *facts) wireLimit(s *measure.RepetitionFacts) int64 {
	if bench.OrZero(s.Write).ByteRate > bench.OrZero(s.Read).ByteRate {
		return c.Wire.WriteBytesPerSecond
	}
	return c.Wire.ReadBytesPerSecond
}

// searchWords describes the result of a search for capacity.
func searchWords(q measure.Capacity) string {
	var each []string
	unit := "IOPS"
	if q.Statements {
		unit = "statements/s"
	}
	for _, b := range q.Bounds {
		within := b.Bound()
		var words string
		switch {
		case b.OperationsPerSecond == 0 && b.High == 0:
			words = "too few operations to tell which rate keeps a " + within
		case b.OperationsPerSecond == 0:
			words = "no rate that was tried keeps a " + within
		case !b.Reached:
			words = fmt.Sprintf("at least %d %s within a %s", b.OperationsPerSecond, unit, within)
		default:
			words = fmt.Sprintf("%d %s within a %s", b.OperationsPerSecond, unit, within)
		}
		if b.Low > 0 && b.High > b.Low {
			words += fmt.Sprintf(" (%d to %d)", b.Low, b.High)
		}
		each = append(each, words)
	}
	return strings.Join(each, ", ")
}

// kneeStep returns the step with users above which more users bring hardly more; nil if there is none.
func (c *facts) kneeStep() *measure.StepSummary {
	i := slices.IndexFunc(c.Steps, func(s measure.StepSummary) bool { return s.Knee && s.Kind == runfile.StepUsers })
	if i < 0 {
		return nil
	}
	return &c.Steps[i]
}

// limitWords names what was used up. Without such a thing, the load itself decides how much it gets from the storage.
func (c *facts) limitWords(found []bench.Finding) string {
	s := c.Overall
	switch {
	case has(found, AboveWireLimit):
		return "the links cannot carry what was measured, so the limit of the load is not known"
	case c.limited != nil && len(c.limited.Bounds) > 0:
		return capacityLimitWords(c.limited.Bounds[0])
	case s == nil:
		return ""
	}
	const faster = "; the storage may be faster"
	busy, nodes := c.busyClient(s.ClientCPU), busyStorage(s)
	switch {
	case measure.AtLeastPermille(s.WirePermille, wireSaturated):
		return linkWords(c.Wire.Links) + " " + permilleText(s.WirePermille) + " full" + faster + c.queueWords()
	case len(busy) > 0 && has(found, ClientCPUBound):
		return "the client was the limit: " + listed(busy) + faster
	case len(busy) > 0: // ForeignLoad explains it
		return "other work kept the client's machine busy, so the limit of the load is not known"
	case has(found, QoSThrottled):
		return "a QoS policy of the array was the limit" + faster + " without it"
	case len(nodes) > 0:
		return "the storage was the limit: " + listed(nodes)
	case has(found, SlotsLimited):
		return "the slots of the NFS session were the limit" + faster
	case bench.OrZero(c.Raw().OperationsPerSecond) > 0:
		return fmt.Sprintf("the load asked for %d operations/s and got %d", bench.OrZero(c.Raw().OperationsPerSecond),
			s.Total.OperationsPerSecond)
	default:
		return "nothing that was counted was full" + c.moreWords()
	}
}

// capacityLimitWords names what limits a capacity; empty if it was not found.
func capacityLimitWords(b measure.BoundCapacity) string {
	if b.LimitedBy == "" {
		return ""
	}
	return map[string]string{
		measure.LimitWire:       "the links limit this capacity",
		measure.LimitClientCPU:  "the CPU of the client limits this capacity",
		measure.LimitStorageCPU: "the CPU of the storage limits this capacity",
		measure.LimitQueue:      "the number of outstanding I/Os limits this capacity",
		measure.LimitClient:     "the noise of the client limits this capacity",
		measure.LimitStorage:    "the storage is the likely limit of this capacity",
	}[b.LimitedBy]
}

// queueWords explains the latency of a closed loop on full links: by Little's law it is the number of outstanding I/Os
// divided by their rate, whatever the storage does.
func (c *facts) queueWords() string {
	outstanding, _ := c.Outstanding()
	paced := bench.OrZero(c.Raw().OperationsPerSecond) > 0
	if l := c.Overall.Total.Latency; l == nil || paced || outstanding < 2 {
		return ""
	}
	return fmt.Sprintf(". With %d I/Os outstanding, the latency is the wait for the links", outstanding)
}

// moreWords says whether more load may give more, where nothing was used up.
func (c *facts) moreWords() string {
	if knee := c.kneeStep(); knee != nil {
		return ", and more than " + human.Count(knee.Users, "user") + " gave hardly more, so the storage is the likely limit"
	}
	outstanding, raise := c.Outstanding()
	latency := c.Overall.Total.Latency
	if latency == nil || outstanding == 0 {
		return ""
	}
	return fmt.Sprintf(": each I/O took %s with %d outstanding, and more %s may give more",
		human.Latency(latency.MeanMicroseconds), outstanding, raise)
}

// linkWords describes links by their number and speed, with the verb.
func linkWords(links []measure.WireLink) string {
	speed := links[0].BitsPerSecond
	switch same := !slices.ContainsFunc(links, func(l measure.WireLink) bool { return l.BitsPerSecond != speed }); {
	case len(links) == 1:
		return "the link of " + measure.BitRate(speed) + " was"
	case same:
		return human.Count(len(links), "link") + " of " + measure.BitRate(speed) + " were"
	default:
		return human.Count(len(links), "link") + " of different speeds were"
	}
}

// enoughWords tells the verdict with what was asked.
func enoughWords(j Judgement, o outcome) string {
	switch j.Verdict {
	case bench.VerdictNotEvaluated:
		return "not asked (spec.expect)"
	case bench.VerdictPass:
		return "yes (asked: " + strings.Join(o.asked, ", ") + ")"
	case bench.VerdictFail:
		return "no (" + strings.Join(o.short, ", ") + ")"
	default:
		return "unknown, " + whyInconclusive(j)
	}
}

func whyInconclusive(j Judgement) string {
	switch {
	case j.Summary == nil:
		return "nothing was measured"
	case has(j.Findings, Partial):
		return "the run did not come to its end"
	case j.Validity == bench.ValidityInvalid:
		return "the numbers cannot be used"
	case has(j.Findings, AboveWireLimit):
		return "the speed of the links must be right first"
	default:
		return "not all that was asked was measured"
	}
}

// trustWords tells the validity with its first cause.
func trustWords(j Judgement) string {
	switch {
	case j.Summary == nil:
		return "there is no number to believe"
	case j.Validity == bench.ValidityValid:
		return "yes, nothing speaks against the numbers"
	case j.Validity == bench.ValiditySuspect:
		return "limited, " + causeOf(j.Findings, bench.ValiditySuspect)
	default:
		return "no, " + causeOf(j.Findings, bench.ValidityInvalid)
	}
}

// causeOf returns the words of the first finding that alone gives a run that validity.
func causeOf(found []bench.Finding, v bench.Validity) string {
	for _, f := range found {
		if ValidityOf([]bench.Finding{f}) == v {
			return causeWords()[f.Code]
		}
	}
	return "the findings say why"
}

// causeWords returns the words for each finding that can make a run Suspect or Invalid.
func causeWords() map[Code]string {
	return map[Code]string{
		VerificationFailed: "the storage gave back data that were never written",
		ProtocolMismatch:   "something else than the declared protocol carried the load",
		DNFSNotActive:      "Direct NFS was not active",
		Partial:            "the run did not come to its end",
		IOErrors:           "I/Os failed",
		AboveWireLimit:     "the numbers are more than the links can carry",
		NotNFS:             "the files are not on NFS",
		PathUnused:         "a path carried nothing",
		OranfstabNotUsed:   "the database did not use the oranfstab",
		SuspectLatency:     "the latency that the database reports does not fit its rate",
		BatchedReads:       "the database read in batches, so the latency is not that of a read",
		BufferedScan:       "the database scanned through its buffer cache",
		ParameterDiffers:   "parameters of the database are not as declared",
		ColdCache:          "the first run had cold caches",
		CacheSuspected:     "a cache may have answered instead of the storage",
		KnownDefect:        "this release has a known defect",
		WaitsNotStorage:    "the database waited for other things than the storage",
		AsyncIOExhausted:   "the machine had no asynchronous I/O left",
		ClientCPUBound:     "the CPU of the client may have been the limit",
		ClientNoisy:        "the client woke too late to measure such latencies",
		ForeignLoad:        "the machines or the storage were busy with other work",
		ArrayDisagrees:     "the array counted other bytes than the clients",
		VolumeMoved:        "the volume moved during the run",
		NotSteady:          "the load was not steady",
		TooShort:           "the windows were short",
		VariationHigh:      "the repetitions differ much",
		CapacityUncertain:  "the levels of the search contradict each other",
		ClientsNotTogether: "the clients did not measure at the same time",
		ChannelLost:        "a path was down for a part of the time",
		ChannelReconnected: "a path reconnected during the run",
		StateRecovered:     "the server lost the state of the client during the run",
		LayoutFallback:     "a part of the data went through the metadata server",
		LateOperations:     "the client could not keep the rate",
	}
}

func has(found []bench.Finding, code Code) bool {
	return slices.ContainsFunc(found, func(f bench.Finding) bool { return f.Code == code })
}
