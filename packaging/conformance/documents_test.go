package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// documentTests names for each case of the documents that Pinion was made from the tests that show it, as "file: name" below
// the repository's root. The cases have their names in the requirements; what each wants is said where it is tested.
var documentTests = map[string][]string{
	"S0.1": {"packaging/e2e/documents_test.go: TestS01TheClusterIsOnePool"},
	"S1.1": {"packaging/e2e/documents_test.go: TestS11RegisterTheBlogsTaskDefinition"},
	"S1.2": {"packaging/e2e/documents_test.go: TestS12And15RunItAndSeeItsOneGPU"},
	"S1.3": {"packaging/e2e/many/documents_test.go: S1.3 two hosts of one GPU run two tasks and refuse a third"},
	"S1.4": {"packaging/e2e/many/documents_test.go: S1.4 four and eight GPUs are on two hosts"},
	"S1.5": {"packaging/e2e/documents_test.go: TestS12And15RunItAndSeeItsOneGPU"},
	"S1.6": {"packaging/e2e/documents_test.go: TestS16CloudFormationIsPointedElsewhere"},
	"S2.1": {"packaging/e2e/documents_test.go: TestS21TheCountFormBecomesTheECSForm"},
	"S2.2": {"packaging/e2e/documents_test.go: TestS22TheAWSCLIRefusesTheCountFormItself"},
	"S2.3": {
		"packaging/conformance/documents_test.go: S2.3 a host without a driver has no GPU",
		"gpu/nvml/source_test.go: TestHardwareWithoutADriverIsAProblemThatTheHelperExplains",
	},
	"S2.4": {"packaging/conformance/documents_test.go: S2.4 more GPUs than there are, and none of the kind"},
	"S3.1": {"packaging/e2e/many/documents_test.go: S3.1 memberOf an instance type"},
	"S3.2": {"packaging/e2e/documents_test.go: TestS32TheUserGuidesExampleExitsWithZero"},
	"S3.3": {
		"packaging/e2e/many/documents_test.go: S3.3 hosts with GPUs and without",
		"packaging/e2e/gpus_test.go: TestAContainerWithoutARequirementSeesNoGPU",
	},
	"S3.4": {"packaging/e2e/documents_test.go: TestS34AllGPUsOfATaskMustBeOnOneHost"},
	"S3.5": {"packaging/e2e/documents_test.go: TestS35AFragmentIsNotJSON"},
	"S4.1": {"packaging/e2e/documents_test.go: TestS41TheYAMLFormWantsAFamily"},
}

func TestEveryCaseOfTheDocumentsHasItsTest(t *testing.T) {
	for name, tests := range documentTests {
		for _, test := range tests {
			file, shown, _ := strings.Cut(test, ": ")
			source, err := os.ReadFile(filepath.Join("../..", file))
			must(t, err)
			if !strings.Contains(string(source), "func "+shown+"(") && !strings.Contains(string(source), "t.Run(\""+shown+"\"") {
				t.Errorf("%s: %s has no test %q", name, file, shown)
			}
		}
	}
}

// testDocuments are the cases that no other test shows, on a spare host.
func (s *testPool) testDocuments(t *testing.T, spare string) {
	s.spare(t, spare)
	c, cluster := newSDK(t, s), "spare-"+spare
	register := func(family, kind, count, fails string) {
		body := `{"family":"` + family + `","containerDefinitions":[{"name":"c","image":"pinion/self","memory":16,"resourceRequirements":[{"type":"` + kind + `","value":"` + count + `"}]}]}`
		runStep(t, c, step{operation: "RegisterTaskDefinition", wantError: fails}, body)
	}
	t.Run("S2.3 a host without a driver has no GPU", func(t *testing.T) {
		listed := runStep(t, c, step{operation: "ListContainerInstances"}, `{"cluster":"`+cluster+`"}`)
		described := runStep(t, c, step{operation: "DescribeContainerInstances"}, `{"cluster":"`+cluster+`","containerInstances":["`+textAt(listed, "containerInstanceArns.0")+`"]}`)
		for _, i := range []string{"0", "1", "2", "3", "4"} {
			if name := textAt(described, "containerInstances.0.registeredResources."+i+".name"); name == "GPU" || i == "0" && name != "CPU" {
				t.Errorf("resource %s of a host without GPUs is %q", i, name)
			}
		}
		register("one-gpu", "GPU", "1", "")
		eventually(t, "a task with a GPU is refused for want of one", func() bool { // and not because the host has just come
			ran := runStep(t, c, step{operation: "RunTask"}, `{"cluster":"`+cluster+`","taskDefinition":"one-gpu"}`)
			return textAt(ran, "failures.0.reason") == "RESOURCE:GPU" && textAt(ran, "tasks.0.taskArn") == ""
		})
	})
	t.Run("S2.4 more GPUs than there are, and none of the kind", func(t *testing.T) {
		register("nine-gpus", "GPU", "9", "")
		ran := runStep(t, c, step{operation: "RunTask"}, `{"taskDefinition":"nine-gpus"}`)
		if reason := textAt(ran, "failures.0.reason"); reason != "RESOURCE:GPU" || textAt(ran, "tasks.0.taskArn") != "" {
			t.Errorf("nine GPUs of eight are refused with %q: %v", reason, ran)
		}
		register("no-such-kind", "TPU", "1", clientException)
		register("half-a-gpu", "GPU", "0.5", clientException)
	})
}
