package gen

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// Container runs the load in a database of its own, whose image is of this
// edition.
func Container(image string, edition v1alpha1.DatabaseEdition, mods ...func(*v1alpha1.DatabaseContainer)) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		Oracle(b)
		c := b.Spec.Database.Container
		c.Image, c.Edition = image, edition
		for _, m := range mods {
			m(c)
		}
	}
}

// External runs the load in a database that exists, with a service for each of
// its instances.
func External(connect string, services ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		ExternalOracle(connect)(b)
		b.Spec.Database.External.Services = services
	}
}

// Schemas spreads the users of a SLOB load over so many.
func Schemas(n int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.SLOB.Schemas = n }
}

// Kit runs the user's own SLOB kit, of a claim if one is named.
func Kit(claim, directory string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.SLOB.Kit = &v1alpha1.SLOBKit{ClaimName: claim, Directory: directory}
	}
}
