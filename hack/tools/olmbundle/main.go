// Command olmbundle writes a bundle for the Operator Lifecycle Manager and validates it with
// OLM's own validators. It lives in a module of its own because their requirements would move
// the versions of others.
//
//	kustomize build config/default |
//	  olmbundle -base FILE -icon FILE -version v1.2.3 -created TIME -email ADDRESS -o FOLDER SAMPLE...
//
// OLM makes the namespace, the service account and its bindings, from the rules in the
// ClusterServiceVersion.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	name    = "nfsbench"
	channel = "candidate" // as OLM names what is not stable yet
	// relatedImage is the environment variable of the manager with the second image.
	relatedImage = "NFSBENCH_IMAGE"
)

type options struct{ base, icon, version, created, email, folder string }

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "file with the ClusterServiceVersion to complete")
	flag.StringVar(&o.icon, "icon", "", "SVG file")
	flag.StringVar(&o.version, "version", "", "version of the release, with v")
	flag.StringVar(&o.created, "created", "", "time of the release, RFC 3339")
	flag.StringVar(&o.email, "email", "", "address of the maintainers, which OLM demands")
	flag.StringVar(&o.folder, "o", "", "folder to write")
	flag.Parse()
	if err := run(o, flag.Args(), os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "olmbundle:", err)
		os.Exit(1)
	}
}

func run(o options, samples []string, in io.Reader) error {
	objects, err := decode(in)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.base)
	if err != nil {
		return err
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := yaml.UnmarshalStrict(text, csv); err != nil {
		return fmt.Errorf("%s: %w", o.base, err)
	}
	if err := describe(csv, o, samples); err != nil {
		return err
	}
	rest, err := install(csv, objects)
	if err != nil {
		return err
	}
	for file, object := range rest {
		if err := write(filepath.Join(o.folder, "manifests", file), object); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(o.folder, "manifests", name+".clusterserviceversion.yaml"), csv); err != nil {
		return err
	}
	const prefix = "operators.operatorframework.io.bundle."
	if err := write(filepath.Join(o.folder, "metadata", "annotations.yaml"), map[string]any{"annotations": map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": name, prefix + "channels.v1": channel, prefix + "channel.default.v1": channel,
	}}); err != nil {
		return err
	}
	return validate(o.folder)
}

func decode(in io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	d := utilyaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("standard input: %w", err)
		case len(u.Object) > 0:
			objects = append(objects, u)
		}
	}
}

// describe fills in what depends on the release and not on the manifests.
func describe(csv *v1alpha1.ClusterServiceVersion, o options, samples []string) error {
	v, err := semver.Parse(strings.TrimPrefix(o.version, "v"))
	if err != nil {
		return fmt.Errorf("-version %q: %w", o.version, err)
	}
	csv.Name = name + "." + o.version
	csv.Namespace = "placeholder"
	csv.Spec.Maintainers[0].Email = o.email
	csv.Spec.Version = version.OperatorVersion{Version: v}
	icon, err := os.ReadFile(o.icon)
	if err != nil {
		return err
	}
	csv.Spec.Icon = []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	var examples []json.RawMessage
	for _, file := range samples {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		example, err := yaml.YAMLToJSON(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		examples = append(examples, example)
	}
	list, err := json.Marshal(examples)
	if err != nil {
		return err
	}
	csv.Annotations["alm-examples"] = string(list)
	csv.Annotations["createdAt"] = o.created
	return nil
}

// install moves the Deployment and the rules of its service account to csv. It returns the
// other objects by their file names.
func install(csv *v1alpha1.ClusterServiceVersion, objects []*unstructured.Unstructured) (map[string]any, error) {
	rest, rules := map[string]any{}, map[string][]rbacv1.PolicyRule{}
	spec := &csv.Spec.InstallStrategy.StrategySpec
	for _, u := range objects {
		switch u.GetKind() {
		case "Namespace", "ServiceAccount", "RoleBinding", "ClusterRoleBinding":
		case "Deployment":
			d := &appsv1.Deployment{}
			if err := into(u, d); err != nil {
				return nil, err
			}
			spec.DeploymentSpecs = append(spec.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Label: d.Labels, Spec: d.Spec})
			images(csv, &d.Spec.Template.Spec.Containers[0])
		case "Role", "ClusterRole":
			r := &rbacv1.ClusterRole{}
			if err := into(u, r); err != nil {
				return nil, err
			}
			rules[u.GetKind()+u.GetName()] = r.Rules
			if u.GetKind() == "ClusterRole" {
				rest[u.GetName()+".clusterrole.yaml"] = u.Object
			}
		default:
			unstructured.RemoveNestedField(u.Object, "metadata", "namespace")
			rest[u.GetName()+"."+strings.ToLower(u.GetKind())+".yaml"] = u.Object
		}
	}
	for _, u := range objects {
		b := &rbacv1.ClusterRoleBinding{}
		switch u.GetKind() {
		case "RoleBinding", "ClusterRoleBinding":
			if err := into(u, b); err != nil {
				return nil, err
			}
		default:
			continue
		}
		p := v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: b.Subjects[0].Name, Rules: rules[b.RoleRef.Kind+b.RoleRef.Name]}
		if len(p.Rules) == 0 {
			return nil, fmt.Errorf("%s %s binds no role of these manifests", u.GetKind(), u.GetName())
		}
		if u.GetKind() == "RoleBinding" {
			spec.Permissions = append(spec.Permissions, p)
			continue
		}
		spec.ClusterPermissions = append(spec.ClusterPermissions, p)
		delete(rest, b.RoleRef.Name+".clusterrole.yaml")
	}
	return rest, nil
}

// images notes the images that a mirror needs.
func images(csv *v1alpha1.ClusterServiceVersion, c *corev1.Container) {
	csv.Annotations["containerImage"] = c.Image
	csv.Spec.RelatedImages = []v1alpha1.RelatedImage{{Name: "manager", Image: c.Image}}
	for _, e := range c.Env {
		if e.Name == relatedImage {
			csv.Spec.RelatedImages = append(csv.Spec.RelatedImages, v1alpha1.RelatedImage{Name: "nfsbench", Image: e.Value})
		}
	}
}

func into(u *unstructured.Unstructured, object any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

func write(file string, object any) error {
	// Neither status nor times: the files depend on the sources only.
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	delete(fields, "status")
	text, err := yaml.Marshal(fields)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func validate(folder string) error {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return err
	}
	var mistakes bytes.Buffer
	validators := append(validation.DefaultBundleValidators, validation.OperatorHubV2Validator,
		validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator, validation.ObjectValidator)
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, w := range result.Warnings {
			fmt.Fprintln(os.Stderr, "warning:", w.Detail)
		}
		for _, e := range result.Errors {
			fmt.Fprintln(&mistakes, e.Detail)
		}
	}
	if mistakes.Len() > 0 {
		return fmt.Errorf("the bundle is not valid:\n%s", mistakes.String())
	}
	return nil
}
