package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// TestScenario goes through the scenario with each client, one after the other: they share the host's GPUs.
func TestScenario(t *testing.T) {
	t.Parallel()
	versions := cliVersions(t)
	names := []string{"documents", "raw", "sdk", "boto3"}
	for version := range versions {
		names = append(names, nameOfCLI(version))
	}
	s := newSite(t, names...)
	t.Run("documents", func(t *testing.T) { s.testDocuments(t, "documents") })
	t.Run("bare HTTP against the model", func(t *testing.T) {
		r := raw{t, s, serviceModel(t)}
		s.play(t, r, "raw", scenario)
		t.Run("operations beyond", r.testOtherOperations)
	})
	t.Run("AWS SDK for Go v2", func(t *testing.T) {
		s.play(t, newSDK(t, s), "sdk", scenario)
		hasRun(t, "AWS SDK for Go v2", "of the API "+awsecs.ServiceAPIVersion)
	})
	t.Run("boto3", func(t *testing.T) {
		version := boto3Version(t)
		s.play(t, newBoto3(t, s), "boto3", scenario)
		t.Run("waiters and paginators", s.testWaitersAndPaginators)
		hasRun(t, "boto3", version)
	})
	t.Run("AWS CLI", func(t *testing.T) {
		if len(versions) == 0 {
			t.Skip("NOT TESTED: the AWS CLI is not on this machine")
		}
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			t.Run(version, func(t *testing.T) {
				c := newCLI(t, s, version, versions[version])
				s.play(t, c, nameOfCLI(version), successes()) // a process for each call takes its time
				t.Run("waiters and paging", c.testLoops)
				hasRun(t, "AWS CLI", version)
			})
		}
	})
}

// nameOfCLI is a version as names of clusters may be written.
func nameOfCLI(version string) string { return "cli-" + strings.ReplaceAll(version, ".", "-") }
