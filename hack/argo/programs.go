// Package argo names the programs of Argo Workflows that the local cluster runs,
// so that this module's requirements are theirs.
package argo

import (
	_ "github.com/argoproj/argo-workflows/v4/cmd/argo"
	_ "github.com/argoproj/argo-workflows/v4/cmd/argoexec"
	_ "github.com/argoproj/argo-workflows/v4/cmd/workflow-controller"
)
