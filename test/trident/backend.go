package trident

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nfsbench/nfsbench/internal/trident"
)

func (c *Controller) stepBackends(ctx context.Context) (string, error) {
	if c.fault().Silent {
		return "", nil
	}
	configs, err := c.list(ctx, trident.KindBackendConfig)
	return firstStep(ctx, configs, err, c.stepBackend)
}

// stepDeadLIF goes on with the backend whose management LIF does not answer. When Trident has given it
// up, everything that waited is done, and Trident tries it again, all in one step: nobody can put
// something in between.
func (c *Controller) stepDeadLIF(ctx context.Context) (string, error) {
	if c.worksOn == nil {
		return "", nil
	}
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(trident.Kind(trident.KindBackendConfig))
	key := *c.worksOn
	err := c.Client.Get(ctx, key, config)
	if apierrors.IsNotFound(err) || err == nil && !c.hasDeadLIF(config) {
		c.worksOn = nil
		return "", nil
	}
	if err != nil || c.fault().Mute == managementLIF(config) || c.Now().Sub(c.startedAt) < DeadLIF {
		return "", err
	}
	c.worksOn, c.gaveUp = nil, config.GetUID()
	lif := managementLIF(config)
	if _, err := c.refused(ctx, config, fmt.Sprintf("error initializing %s driver: error creating ONTAP API client: "+
		"Post \"https://%s/servlets/netapp.servlets.admin.XMLrequest_filer\": context deadline exceeded",
		text(config, "spec", "storageDriverName"), lif)); err != nil {
		return "", err
	}
	for did := "x"; did != "" && err == nil && c.worksOn == nil; {
		did, err = firstOf(ctx, c.stepBackends, c.stepCalls, c.stepUnderWay, c.stepVolumes)
	}
	if c.gaveUp = ""; c.worksOn == nil {
		c.worksOn, c.startedAt = &key, c.Now()
	}
	return "Trident gives TridentBackendConfig " + key.Name + " up, does what waited, and tries it again", err
}

// hasDeadLIF says that the management LIF of a configuration does not answer.
func (c *Controller) hasDeadLIF(config *unstructured.Unstructured) bool {
	lif := managementLIF(config)
	return lif != "" && (lif == c.fault().Drops || lif == c.fault().Mute)
}

func managementLIF(config *unstructured.Unstructured) string {
	return text(config, "spec", "managementLIF")
}

// firstStep does the first thing that there is to do about one of some objects,
// unless there was an error before.
func firstStep[T any](ctx context.Context, all []T, err error, step func(context.Context, *T) (string, error)) (string, error) {
	did := ""
	for i := 0; i < len(all) && did == "" && err == nil; i++ {
		did, err = step(ctx, &all[i])
	}
	return did, err
}

func (c *Controller) stepBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	switch {
	case config.GetDeletionTimestamp() != nil:
		return c.deleteBackend(ctx, config)
	case !controllerutil.ContainsFinalizer(config, trident.Finalizer):
		controllerutil.AddFinalizer(config, trident.Finalizer)
		return "Trident takes TridentBackendConfig " + config.GetName(), c.Client.Update(ctx, config)
	case text(config, "status", "phase") != "":
		return c.tellBackend(ctx, config)
	case c.hasDeadLIF(config) && c.gaveUp == config.GetUID():
		return "", nil
	case c.hasDeadLIF(config):
		key := client.ObjectKeyFromObject(config)
		c.worksOn, c.startedAt = &key, c.Now()
		return "Trident works on TridentBackendConfig " + config.GetName(), nil
	}
	if why := c.refuse(ctx, config); why != "" {
		return c.refused(ctx, config, why)
	}
	name, id := cmp.Or(text(config, "spec", "backendName"), config.GetName()), string(uuid.NewUUID())
	backend, err := c.backendOf(ctx, config.GetUID())
	if err == nil && backend == nil {
		err = c.Client.Create(ctx, c.newBackend(config, name, id))
	} else if backend != nil {
		id = text(backend, "backendUUID")
	}
	switch {
	case err != nil:
		return "", err
	case c.fault().Unwritten && backend == nil:
		return "Trident ends when it has made backend " + name, nil
	case c.fault().Unwritten:
		return "", nil
	}
	return "TridentBackendConfig " + config.GetName() + " is bound", c.report(ctx, config, map[string]any{
		"phase": trident.PhaseBound, "lastOperationStatus": "Success", "message": fmt.Sprintf("Backend '%s' created", name),
		"deletionPolicy": "delete", "backendInfo": map[string]any{"backendName": name, "backendUUID": id},
	})
}

// refused reports why Trident makes no backend. It tries again, and says the same once.
func (c *Controller) refused(ctx context.Context, config *unstructured.Unstructured, why string) (string, error) {
	why = "Failed to create backend: " + why
	if text(config, "status", "message") == why {
		return "", nil
	}
	return "Trident refuses TridentBackendConfig " + config.GetName(), c.report(ctx, config, map[string]any{
		"phase": "", "lastOperationStatus": "Failed", "message": why, "deletionPolicy": "delete",
		"backendInfo": map[string]any{"backendName": "", "backendUUID": ""},
	})
}

// refuse validates a configuration as Trident does; "" where it is good.
func (c *Controller) refuse(ctx context.Context, config *unstructured.Unstructured) string {
	if f := c.fault().Backend; f != "" {
		return f
	}
	spec, _, _ := unstructured.NestedMap(config.Object, "spec")
	if spec["version"] != int64(1) {
		return fmt.Sprintf("input failed validation: unexpected config file version; found %v, expected 1", spec["version"])
	}
	driver, _ := spec["storageDriverName"].(string)
	if !slices.Contains([]string{trident.DriverNAS, trident.DriverFlexGroup, driverEconomy}, driver) {
		return "unknown storage driver: " + driver
	}
	for _, inline := range []string{"username", "password", "clientPrivateKey"} {
		if _, is := spec[inline]; is {
			return fmt.Sprintf("input contains forbidden attributes: [%s]", inline)
		}
	}
	if managementLIF(config) == "" {
		return fmt.Sprintf("error initializing %s driver: there is no managementLIF", driver)
	}
	secret := &corev1.Secret{}
	name := text(config, "spec", "credentials", "name")
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return "backend credentials not found"
	case err != nil:
		return err.Error()
	case len(secret.Data["username"]) == 0 || len(secret.Data["password"]) == 0:
		return fmt.Sprintf("secret %s has no username and password", name)
	default:
		return ""
	}
}

// The fields of an ONTAP backend are below this one.
const ontapConfig = "ontap_config"

const driverEconomy = "ontap-nas-economy"

// newBackend is a TridentBackend: its configuration is the spec, with Trident's defaults in place of
// what the spec leaves out.
func (c *Controller) newBackend(config *unstructured.Unstructured, name, id string) *unstructured.Unstructured {
	ontap, _, _ := unstructured.NestedMap(config.Object, "spec")
	delete(ontap, "deletionPolicy")
	driver, personality, auto := text(config, "spec", "storageDriverName"), "Unified", ontap["autoExportPolicy"] == true
	if c.AFX && driver == trident.DriverNAS {
		personality = "AFX"
	}
	if c.fault().BackendsAreEconomy {
		ontap["storageDriverName"] = driverEconomy
	}
	defaults := map[string]any{
		"spaceReserve": "none", "snapshotPolicy": "none", "snapshotReserve": "", "snapshotDir": "false", "unixPermissions": "---rwxrwxrwx",
		"exportPolicy": "default", "securityStyle": "unix", "splitOnClone": "false", "skipRecoveryQueue": "false", "size": "1G",
	}
	given, _, _ := unstructured.NestedMap(ontap, "defaults")
	maps.Copy(defaults, given)
	if auto {
		defaults["exportPolicy"] = "<automatic>"
	}
	for key, value := range map[string]any{
		"dataLIF": c.DataLIF, "autoExportPolicy": false, "autoExportCIDRs": []any{"0.0.0.0/0", "::/0"}, "nfsMountOptions": "", "aggregate": "",
		"useBalancedPlacement": strconv.FormatBool(c.AFX),
	} {
		if _, is := ontap[key]; !is {
			ontap[key] = value
		}
	}
	maps.Copy(ontap, map[string]any{
		"backendName": name, "storagePrefix": storagePrefix, "defaults": defaults,
		"flags": map[string]any{"personality": personality, "disaggregated": strconv.FormatBool(c.AFX), "sanOptimized": "false"},
	})
	u := &unstructured.Unstructured{Object: map[string]any{
		"backendName": name, "backendUUID": id, "version": "1", "online": true, "state": "online",
		"userState": "normal", "configRef": string(config.GetUID()), "config": map[string]any{ontapConfig: ontap},
	}}
	u.SetGroupVersionKind(trident.Kind(trident.KindBackend))
	u.SetNamespace(c.Namespace)
	u.SetName("tbe-" + rand.String(5))
	u.SetFinalizers([]string{trident.Finalizer})
	return u
}

// tellBackend keeps what a backend reports about itself true.
func (c *Controller) tellBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	backend, err := c.backendOf(ctx, config.GetUID())
	if err != nil || backend == nil || text(backend, "state") == stateDeleting {
		return "", err
	}
	state, online, reason := "online", true, c.fault().Offline
	if reason != "" {
		state, online = "offline", false
	}
	user := "normal"
	if c.fault().Suspended {
		user = "suspended"
	}
	if text(backend, "state") == state && text(backend, "userState") == user {
		return "", nil
	}
	backend.Object["state"], backend.Object["online"], backend.Object["stateReason"] = state, online, reason
	backend.Object["userState"] = user
	return "the backend is " + state, c.Client.Update(ctx, backend)
}

// backendOf is the TridentBackend of a configuration; nil where there is none.
func (c *Controller) backendOf(ctx context.Context, config types.UID) (*unstructured.Unstructured, error) {
	list, err := c.list(ctx, trident.KindBackend)
	i := slices.IndexFunc(list, func(u unstructured.Unstructured) bool { return text(&u, "configRef") == string(config) })
	if i < 0 {
		return nil, err
	}
	return &list[i], err
}

const stateDeleting = "deleting"

// deleteBackend lets a configuration go once its last volume has gone. One without a phase goes
// at once, and without its backend.
func (c *Controller) deleteBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	if !controllerutil.ContainsFinalizer(config, trident.Finalizer) {
		return "", nil
	}
	if text(config, "status", "phase") != "" {
		backend, err := c.backendOf(ctx, config.GetUID())
		if err != nil {
			return "", err
		}
		if backend != nil {
			if gone, did, err := c.removeBackend(ctx, config, backend); !gone || err != nil {
				return did, err
			}
		}
	}
	controllerutil.RemoveFinalizer(config, trident.Finalizer)
	return "TridentBackendConfig " + config.GetName() + " is gone", c.Client.Update(ctx, config)
}

// removeBackend removes the backend of a configuration, or says that it has volumes: in words that
// change with the second attempt.
func (c *Controller) removeBackend(ctx context.Context, config, backend *unstructured.Unstructured) (gone bool, did string, err error) {
	why := "Backend is in a deleting state, cannot proceed with the TridentBackendConfig deletion. "
	if text(backend, "state") != stateDeleting {
		backend.Object["state"], backend.Object["online"] = stateDeleting, false
		if err := c.Client.Update(ctx, backend); err != nil {
			return false, "", err
		}
		why = "Backend still present after a deletion attempt"
	}
	gone, err = c.releaseEmpty(ctx, backend)
	if err != nil || gone || text(config, "status", "message") == why {
		return gone, "", err
	}
	status, _, _ := unstructured.NestedMap(config.Object, "status")
	status["phase"], status["lastOperationStatus"], status["message"] = trident.PhaseDeleting, "Success", why
	return false, "TridentBackendConfig " + config.GetName() + " waits for its volumes", c.report(ctx, config, status)
}

// releaseEmpty lets a backend that is deleted go, if it has no volume.
func (c *Controller) releaseEmpty(ctx context.Context, backend *unstructured.Unstructured) (gone bool, err error) {
	volumes, err := c.list(ctx, trident.KindVolume)
	if err != nil || slices.ContainsFunc(volumes, func(v unstructured.Unstructured) bool {
		return text(&v, "backendUUID") == text(backend, "backendUUID")
	}) {
		return false, err
	}
	return true, c.release(ctx, backend)
}

func (c *Controller) release(ctx context.Context, u *unstructured.Unstructured) error {
	if len(u.GetFinalizers()) > 0 {
		u.SetFinalizers(nil)
		if err := c.Client.Update(ctx, u); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(c.Client.Delete(ctx, u))
}

// report writes the status of a configuration, and the event about it.
func (c *Controller) report(ctx context.Context, config *unstructured.Unstructured, status map[string]any) error {
	config.Object["status"] = status
	if err := c.Client.Status().Update(ctx, config); err != nil {
		return err
	}
	severity := corev1.EventTypeWarning
	if status["phase"] == trident.PhaseBound {
		severity = corev1.EventTypeNormal
	}
	_, err := c.tell(ctx, config, trident.KindBackendConfig, severity, text(config, "status", "lastOperationStatus"), text(config, "status", "message"))
	return err
}
