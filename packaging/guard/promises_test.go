package guard

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// A table with a column of tests: its rows.
	promiseTable = regexp.MustCompile(`(?m)^\|.* test \|.*\n\|.*\|\n((?:\|.*\|\n?)+)`)
	testName     = regexp.MustCompile("`(Test\\w+)`")
)

// readmePromises are what README.md says of who may do what, with the tests that hold it.
var readmePromises = map[string]string{
	"A task owns its GPUs by UUID until it has stopped and no process has them open.":                       "TestTwoHundredLaunchesNeverShareAGPU TestAGPUInUseHoldsStoppedBack",
	"Root on an agent may look; to change anything beyond that host it needs an access key.":                "TestRootOfAnAgentHasTheRightsOfItsHostAlone",
	"A field or an operation that Pinion does not support is refused by name, never dropped.":               "TestEveryInputMemberIsReadOrRefusedByName TestEveryOperationOfECSAnswersOrIsRefusedByName",
	"Of its host's files, namespaces and privileges a task gets only what the operator of that host names:": "TestWhatAHostGivesIsTheWordOfItsOperator TestATaskReachesOnlyWhatItsHostGives",
	"`pinion unlock` encrypts the keys on a host's disk with a secret that each start needs":                "TestALockedHostStartsWithItsSecretOnly TestAStolenDataDirectoryOfALockedServerOpensNothing",
}

// testFunctions are the names of the functions in the project's tests.
func testFunctions(t *testing.T) map[string]bool {
	tests := map[string]bool{}
	eachFile(t, func(f file) {
		for _, declaration := range f.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && f.isTest() && function.Recv == nil {
				tests[function.Name.Name] = true
			}
		}
	})
	return tests
}

// TestEveryPromiseHasItsTest looks up the tests that docs/security.md names: they exist, and each row of a table about tests has one.
func TestEveryPromiseHasItsTest(t *testing.T) {
	page, tests, promises := readPage(t, "security.md"), testFunctions(t), 0
	for _, name := range testName.FindAllStringSubmatch(page, -1) {
		if !tests[name[1]] {
			t.Errorf("docs/security.md names %s, which does not exist", name[1])
		}
	}
	for _, table := range promiseTable.FindAllStringSubmatch(page, -1) {
		for row := range strings.Lines(table[1]) {
			if promises++; !testName.MatchString(row) {
				t.Errorf("docs/security.md promises without a test: %s", row)
			}
		}
	}
	if promises < 100 {
		t.Errorf("%d promises were read", promises)
	}
}

// TestThePromisesOfTheReadmeHaveTheirTests looks up the sentences of README.md about rights, and their tests.
func TestThePromisesOfTheReadmeHaveTheirTests(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, tests := strings.Join(strings.Fields(string(raw)), " "), testFunctions(t)
	for sentence, names := range readmePromises {
		if !strings.Contains(readme, sentence) {
			t.Errorf("README.md does not say any more: %s", sentence)
		}
		for name := range strings.FieldsSeq(names) {
			if !tests[name] {
				t.Errorf("README.md says %q, and there is no %s", sentence, name)
			}
		}
	}
}
