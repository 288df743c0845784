package query

import (
	"testing"

	"pinion/raftfsm/spec"
)

// matchCases are expressions about rack7.
var matchCases = []struct {
	expression string
	want       bool
}{
	// As ECS documents them.
	{"attribute:ecs.instance-type == g2.2xlarge", true},
	{"attribute:ecs.instance-type == p2.xlarge", false},
	{"attribute:ecs.instance-type =~ g2.*", true},
	{"attribute:ecs.availability-zone in [us-east-1a, us-east-1b]", true},
	{"attribute:ecs.instance-type =~ g2.* and attribute:ecs.availability-zone != us-east-1d", true},
	{"attribute:stack == prod", false},
	{"attribute:stack != prod", true},
	{"attribute:missing != prod", false}, // only hosts that have another value
	{"task:group == service:production", true},
	{"not(task:group == database)", false},
	{"runningTasksCount == 2", true},
	{"agentVersion < 1.15.0", true},
	{"registeredAt >= 2018-06-18T22:28:28+00:00", true},
	{"ec2InstanceId in ['i-abcd1234', 'gpu-7']", true},

	// Every operator by both names.
	{"attribute:stack equals dev", true},
	{"attribute:stack not_equals dev", false},
	{"attribute:speed > 10", false}, // numbers as numbers
	{"attribute:speed greater_than 8", true},
	{"attribute:speed greater_than_equal 9", true},
	{"attribute:speed less_than 10", true},
	{"attribute:speed less_than_equal 8", false},
	{"attribute:kernel >= 6.10", false}, // and versions as versions
	{"attribute:stack > de", true},      // the rest as text
	{"attribute:empty exists", true},
	{"attribute:missing exists", false},
	{"attribute:missing !exists", true},
	{"attribute:empty not_exists", false},
	{"attribute:stack !in [prod, test]", true},
	{"attribute:missing not_in [prod]", false},
	{"attribute:ecs.instance-type matches 'g2'", false}, // the whole value
	{"attribute:ecs.instance-type !~ p2.*", true},
	{"attribute:ecs.instance-type not_matches '(g2|p3)[.].*'", false},
	{"attribute:ecs.instance-type =~ [gp]2.[0-9]xlarge", true}, // bare pattern with classes
	{"attribute:ecs.instance-type =~ 'p2|g2'", false},          // alternatives do not loosen the ends
	{"attribute:label == 'it''s a b'", true},
	{`attribute:label == "it's a b"`, true},

	// What the GPUs say.
	{"attribute:pinion.gpu.model =~ .*H100.*", true},
	{"attribute:pinion.gpu.model == 'NVIDIA H100 80GB HBM3'", true},
	{"attribute:pinion.gpu.count >= 2 && attribute:pinion.gpu.memory-mib > 80000", true},
	{"attribute:pinion.driver-version >= 535.54 and attribute:pinion.cuda-version < 12.10", true},

	// Groups: a negated operator means no task of that group.
	{"task:group != database", false},
	{"task:group != web", true},
	{"task:group in [web, database]", true},
	{"task:group !in [web, database]", false},
	{"task:group =~ service:.*", true},
	{"task:group !~ service:.*", false},
	{"task:group exists", true},
	{"task:group !exists", false},
	{"task:group == leaving or task:group == gone", false},

	{"agentVersion == 1.14.5.0", true},
	{"agentVersion > 1.9", true},
	{"agentVersion > 1.14.5-rc1", true},
	{"agentVersion != v1.14.5+build", false},
	{"agentConnected == true", true},
	{"agentConnected != true", false},
	{"agentConnected in [false]", false},
	{"registeredAt == 2018-06-18", true},
	{"registeredAt > 2018-06-18", false}, // the day is not over
	{"registeredAt >= 2018-06-18", true},
	{"registeredAt < 2018-06-19", true},
	{"registeredAt == 2018-06-18T22:28:28", true},
	{"registeredAt == 2018-06-19T00:28:28+02:00", true},
	{"registeredAt > 2018-06-18T22:28:28Z", false},
	{"registeredAt != 2018-06-18T22:28:27Z", true},
	{"runningTasksCount < 2", false},
	{"runningTasksCount!=1", true},

	// and binds closer than or, not closer than and.
	{"attribute:a exists and attribute:b exists or attribute:stack exists", true},
	{"attribute:stack exists or attribute:a exists and attribute:b exists", true},
	{"(attribute:stack exists or attribute:a exists) && attribute:b exists", false},
	{"!attribute:a exists && attribute:stack exists", true},
	{"not not attribute:stack exists", true},
	{"!(attribute:a exists || attribute:stack exists)", false},
}

func TestMatch(t *testing.T) {
	for _, c := range matchCases {
		e := parse(t, c.expression)
		if got := e.Match(rack7()); got != c.want {
			t.Errorf("%s: %t", c.expression, got)
		}
		if why := e.Why(rack7()); (why == "") != c.want {
			t.Errorf("%s: why is %q", c.expression, why)
		}
		if again := parse(t, e.String()); again.Match(rack7()) != c.want || again.String() != e.String() {
			t.Errorf("%s is printed as %s, which is something else", c.expression, e)
		}
	}
}

func TestAVersionThatIsNoneIsOnlyUnequal(t *testing.T) {
	for expression, want := range map[string]bool{"agentVersion != 1.0": true, "agentVersion == 1.0": false, "agentVersion > 0": false, "agentVersion < 9": false} {
		if got := parse(t, expression).Match(HostFacts{Host: &spec.Host{Version: "dev"}}); got != want {
			t.Errorf("%s: %t", expression, got)
		}
	}
}

func TestWhyNamesThePartAndWhatTheHostHas(t *testing.T) {
	for expression, want := range map[string]string{
		"attribute:ecs.instance-type == p2.xlarge":          `attribute:ecs.instance-type == p2.xlarge: it is "g2.2xlarge" here`,
		"attribute:stack exists and attribute:rack == 7":    "attribute:rack == 7: the host does not have the attribute",
		"attribute:stack == a || agentVersion > 2":          `attribute:stack == a: it is "dev" here; agentVersion > 2: it is "1.14.5" here`,
		"not(task:group == database)":                       "not(task:group == database): the host has tasks of database, service:production",
		"!(agentConnected == true and attribute:a !exists)": "not(agentConnected == true and attribute:a !exists) is not so",
		"runningTasksCount == 0":                            "runningTasksCount == 0: it is 2 here",
		"registeredAt > 2020-01-01":                         "registeredAt > 2020-01-01: it is 2018-06-18T22:28:28Z here",
		"ec2InstanceId == i-1":                              `ec2InstanceId == i-1: it is "gpu-7" here`,
		"agentConnected == false":                           "agentConnected == false: it is true here",
	} {
		if got := parse(t, expression).Why(rack7()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := parse(t, "task:group == a").Why(HostFacts{Host: &spec.Host{}}); got != "task:group == a: the host has no tasks" {
		t.Error(got)
	}
}

func TestReadsTasks(t *testing.T) {
	for expression, want := range map[string]bool{
		"attribute:a exists": false, "agentVersion > 1": false, "not(attribute:a exists or task:group == b)": true, "runningTasksCount < 3": true,
	} {
		if parse(t, expression).ReadsTasks() != want {
			t.Errorf("%s: not %t", expression, want)
		}
	}
}
