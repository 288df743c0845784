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
	s := newTestPool(t, names...)
	t.Run("documents", func(t *testing.T) { s.testDocuments(t, "documents") })
	t.Run("bare HTTP against the model", func(t *testing.T) {
		r := rawClient{t, s, serviceModel(t)}
		s.runScenario(t, r, "raw", scenario)
		t.Run("operations beyond", r.testOtherOperations)
	})
	t.Run("AWS SDK for Go v2", func(t *testing.T) {
		s.runScenario(t, newSDK(t, s), "sdk", scenario)
		recordPassed(t, "AWS SDK for Go v2", "of the API "+awsecs.ServiceAPIVersion)
	})
	t.Run("boto3", func(t *testing.T) {
		version := boto3Version(t)
		s.runScenario(t, newBoto3(t, s), "boto3", scenario)
		t.Run("waiters and paginators", s.testWaitersAndPaginators)
		recordPassed(t, "boto3", version)
	})
	t.Run("AWS CLI", func(t *testing.T) {
		if len(versions) == 0 {
			t.Skip("NOT TESTED: the AWS CLI is not on this machine")
		}
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			t.Run(version, func(t *testing.T) {
				c := newCLI(t, s, version, versions[version])
				s.runScenario(t, c, nameOfCLI(version), successes()) // a process for each call takes its time
				t.Run("waiters and paging", c.testLoops)
				recordPassed(t, "AWS CLI", version)
			})
		}
	})
}

// nameOfCLI is a version as names of clusters may be written.
func nameOfCLI(version string) string { return "cli-" + strings.ReplaceAll(version, ".", "-") }
