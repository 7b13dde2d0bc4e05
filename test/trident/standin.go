// Package trident is a stand-in for the controller of NetApp Trident, for tests.
// It is not Trident: it watches TridentBackendConfigs and the claims of Trident's
// classes, and writes the objects that Trident would, with Trident's field names,
// in Trident's order. The volumes themselves come from an Array: one of two nodes
// that serves NFS in the end-to-end test, a list in the others.
//
// It behaves as Trident 26.06.1 with csi-provisioner 6.3.0 was seen to. A configuration gets its
// finalizer when Trident works on it. While the management LIF does not answer, nothing else
// happens, or no other backend with Options.Concurrent. What is refused is tried again. A volume
// of driver ontap-nas with autoExportPolicy has an export policy without rules until a node
// attaches it, which no node does here. A volume without a PersistentVolume stays, and so does a
// backend whose configuration was deleted before its status named it. A provisioner whose class is
// gone gives up. A restart initializes all backends before anything else.
//
// It does one thing at a time when it is told to, so that a test can look at
// every state in between; Run does it in a loop beside a cluster.
package trident

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/internal/trident"
)

// Array makes the volumes. Each method may be called again for what it has
// done already.
type Array interface {
	// CreateVolume makes a volume in a pool, which is an aggregate or ManagedPool. An export
	// policy that is not there is made without rules. It returns the junction path of the
	// volume, and the address that serves it unless the backend names one.
	CreateVolume(ctx context.Context, name string, sizeBytes int64, pool, exportPolicy string) (junction, dataLIF string, err error)
	// DeleteVolume removes it with its data. One that is not there is removed.
	DeleteVolume(ctx context.Context, name string) error
}

// Faults are what goes wrong; the zero value is nothing. They can be changed
// between two steps with SetFaults.
type Faults struct {
	Silent       bool   // nobody reads backend configurations
	Backend      string // refuses each, with this message
	Provisioning string // makes no volume, with this message
	Unreachable  string // deletes no volume, with this message
	Slow         int    // steps that pass before anything happens
	Offline      string // says that its backends are offline, with this reason
	Suspended    bool   // says that an administrator has suspended its backends, and makes no volumes on them
	// Drops is a management LIF that drops packets. Trident gives up a backend of it after
	// DeadLIF, and tries it again.
	Drops string
	// Mute is a management LIF that accepts connections and sends nothing. Trident waits for it
	// for as long as this is set.
	Mute string
	// Unwritten lets Trident end when it has made a backend and not yet written the status of
	// its configuration. It has started again when this is no longer set.
	Unwritten bool
	// Unanswered lets the answer to a call that makes a volume be lost. The volume is there, and
	// the provisioner asks again when this is no longer set.
	Unanswered         bool
	BackendsAreEconomy bool // says that their driver is ontap-nas-economy
}

// Options are what a Controller needs.
type Options struct {
	Client    client.Client // not cached
	Namespace string        // its own
	Array     Array
	// Pools are the aggregates of every backend, in the order of preference.
	Pools []string
	// DataLIF is the address of backends that name none.
	DataLIF string
	// AFX says that the array is disaggregated: ONTAP places the volumes.
	AFX bool
	// Concurrent is enableConcurrency: a backend that is worked on delays no volume of another.
	Concurrent bool
	// Claims is the one namespace whose claims it sees; empty = all, as Trident.
	Claims string
	// Bind plays the volume binder of Kubernetes too, where there is none.
	Bind bool
	Now  func() time.Time
}

// Controller is the stand-in. Its methods may be called by one goroutine at a
// time, SetFaults by any.
type Controller struct {
	Options

	mu     sync.Mutex
	faults Faults
	// underWay are the claims that the provisioner works on, by UID. It has them in memory
	// only, and goes on though they are deleted.
	underWay map[types.UID]*corev1.PersistentVolumeClaim
	// worksOn is the configuration whose management LIF does not answer, since startedAt; nil =
	// none. gaveUp was tried last, and what waited comes first now.
	worksOn   *types.NamespacedName
	startedAt time.Time
	gaveUp    types.UID
	// restarted is when Trident started; zero = it has initialized its backends since, those of
	// failed without success.
	restarted time.Time
	failed    map[string]bool // by UUID
}

// DeadLIF is how long Trident works on a backend whose management LIF drops packets. It initializes
// it twice: each time its client for REST waits for the kernel, 134 s, and that for ZAPI waits 90 s.
const DeadLIF = 448 * time.Second

// New makes a Controller.
func New(o Options) *Controller {
	if len(o.Pools) == 0 {
		o.Pools = []string{"aggr1", "aggr2"}
	}
	return &Controller{Options: o, underWay: map[types.UID]*corev1.PersistentVolumeClaim{}}
}

// Restart ends the controller and its provisioner, and starts them again.
func (c *Controller) Restart() {
	clear(c.underWay)
	c.worksOn, c.gaveUp, c.failed, c.restarted = nil, "", map[string]bool{}, c.Now()
}

// IsReady says that the pod of the controller is ready: Trident has initialized its backends, which
// takes twice DeadLIF for each whose management LIF drops packets.
func (c *Controller) IsReady(ctx context.Context) (bool, error) {
	if c.restarted.IsZero() {
		return true, nil
	}
	backends, err := c.list(ctx, trident.KindBackend)
	if err != nil {
		return false, err
	}
	until := c.restarted
	for i := range backends {
		switch lif := text(&backends[i], "config", ontapConfig, "managementLIF"); lif {
		case c.fault().Mute:
			return false, nil
		case c.fault().Drops:
			until = until.Add(2 * DeadLIF)
			c.failed[text(&backends[i], "backendUUID")] = true
		}
	}
	if c.Now().Before(until) {
		return false, nil
	}
	c.restarted = time.Time{}
	return true, nil
}

// SetFaults changes what goes wrong from now on.
func (c *Controller) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

func (c *Controller) fault() Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// Run steps until the context ends. What fails is tried again, as a controller
// does, and told to report.
func (c *Controller) Run(ctx context.Context, every time.Duration, report func(did string, err error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for more := true; more; { // until there is nothing to do
			did, err := c.Step(ctx)
			more = did != "" && err == nil
			if (did != "" || err != nil) && ctx.Err() == nil {
				report(did, err)
			}
		}
	}
}

// Step does the next thing that there is to do and says what; "" when there is
// nothing.
func (c *Controller) Step(ctx context.Context) (string, error) {
	c.mu.Lock()
	slow := c.faults.Slow > 0
	if slow {
		c.faults.Slow--
	}
	c.mu.Unlock()
	if slow {
		return "Trident takes its time", nil
	}
	if ready, err := c.IsReady(ctx); err != nil || !ready {
		return "", err
	}
	did, err := c.stepDeadLIF(ctx)
	switch {
	case did != "" || err != nil:
		return did, err
	case c.worksOn != nil && c.Concurrent:
		return firstOf(ctx, c.stepCalls, c.stepUnderWay, c.stepVolumes)
	case c.worksOn != nil:
		return firstOf(ctx, c.stepCalls) // the provisioner is a program of its own
	}
	return firstOf(ctx, c.stepBackends, c.stepCalls, c.stepUnderWay, c.stepVolumes)
}

// firstOf does the first thing that there is to do.
func firstOf(ctx context.Context, steps ...func(context.Context) (string, error)) (string, error) {
	for _, step := range steps {
		did, err := step(ctx)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return "", nil // it changed under us: the next step sees it
		}
		if did != "" || err != nil {
			return did, err
		}
	}
	return "", nil
}

func (c *Controller) list(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(trident.Kind(kind + "List"))
	if err := c.Client.List(ctx, l, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	return l.Items, nil
}

// warn says something against an object, once; a second time it changes nothing,
// so that a step that can do nothing says so.
func (c *Controller) warn(ctx context.Context, about client.Object, kind, reason, message string) (bool, error) {
	return c.tell(ctx, about, kind, corev1.EventTypeWarning, reason, message)
}

// tell is warn for events of every type.
func (c *Controller) tell(ctx context.Context, about client.Object, kind, severity, reason, message string) (bool, error) {
	ns := cmp.Or(about.GetNamespace(), metav1.NamespaceDefault)
	at := metav1.NewTime(c.Now())
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("%s.%s.%x", about.GetName(), "standin", len(reason)*1000+len(message))},
		InvolvedObject: corev1.ObjectReference{
			Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(),
		},
		Type: severity, Reason: reason, Message: message, Count: 1,
		FirstTimestamp: at, LastTimestamp: at, Source: corev1.EventSource{Component: trident.Driver},
	}
	err := c.Client.Create(ctx, e)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, err
}

func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

//go:embed crds/*.yaml
var crds embed.FS

// CRDs are Trident's kinds, as far as the operator uses them.
func CRDs() ([]*unstructured.Unstructured, error) {
	raw, err := crds.ReadFile("crds/trident.netapp.io.yaml")
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for part := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(part, &u.Object); err != nil {
			return nil, fmt.Errorf("read Trident's CRDs: %w", err)
		}
		if u.GetKind() != "CustomResourceDefinition" {
			return nil, errors.New("read Trident's CRDs: there is something else among them")
		}
		out = append(out, u)
	}
	return out, nil
}
