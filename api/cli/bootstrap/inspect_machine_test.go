package bootstrap

import (
	"context"
	"io"
	"strings"
	"testing"
)

// What becomes of each machine follows from what they say of themselves: nothing that runs is touched, and nothing is lost.
func TestWhatBecomesOfMachines(t *testing.T) {
	const bare = "system=Linux\nprocessor=x86_64\nsystemd=yes\n"
	const ours = "program=/usr/local/bin/pinion\ndigest=new\n"
	for name, c := range map[string]struct {
		machines []string
		want     []string
		founder  int
	}{
		"bare machines":            {[]string{bare, bare}, []string{"gets this pinion, starts a pool", "gets this pinion, joins the pool"}, 0},
		"the program is there":     {[]string{bare + ours, bare + "program=/usr/local/bin/pinion\ndigest=old\n"}, []string{"starts a pool", "gets this pinion, joins the pool"}, 0},
		"a package is left alone":  {[]string{bare + "program=/usr/bin/pinion\ndigest=old\n", bare}, []string{"starts a pool", "gets this pinion, joins the pool"}, 0},
		"a pool that exists grows": {[]string{bare, bare + ours + "member=yes\npool=one\n", bare + ours + "pool=one\nadmits=yes\n"}, []string{"gets this pinion, joins the pool", "is a host of the pool already", "is a host of the pool already"}, 2},
		"agents alone":             {[]string{bare, bare + ours + "pool=one\n"}, []string{"REFUSED: it cannot join by an agent", "is a host of the pool already"}, 1},
		"another pool":             {[]string{bare + ours + "pool=one\nadmits=yes\n", bare + ours + "pool=two\n"}, []string{"is a host of the pool already", "REFUSED: it is a host of another pool"}, 0},
		"a host that is down":      {[]string{bare, bare + ours + "member=yes\n"}, []string{"starts a pool", "REFUSED: it has the data"}, 0},
		"data elsewhere":           {[]string{bare + "elsewhere=/data/pinion\n"}, []string{"REFUSED: its data directory is /data/pinion"}, 0},
		"one machine, two names":   {[]string{bare + "machine=1\n", bare + "machine=1\n"}, []string{"starts a pool", "REFUSED: it is the same machine"}, 0},
		"another system":           {[]string{"system=Darwin\n"}, []string{"REFUSED: it runs Darwin"}, 0},
		"another processor":        {[]string{"system=Linux\nprocessor=aarch64\n"}, []string{"REFUSED: its processor is aarch64"}, 0},
	} {
		var all []facts
		for _, text := range c.machines {
			all = append(all, parseFacts(text))
		}
		steps, founder := chooseSteps(all, "new", "amd64")
		for i, s := range steps {
			if !strings.Contains(s.String(), c.want[i]) {
				t.Errorf("%s: machine %d %s, want %q", name, i, s, c.want[i])
			}
		}
		if founder != c.founder {
			t.Errorf("%s: they join machine %d, want %d", name, founder, c.founder)
		}
	}
}

// A word reaches the shell of a machine as it stands, whatever is in it.
func TestAWordReachesAShellAsItStands(t *testing.T) {
	for _, word := range []string{"a b", "it's", "$(touch /tmp/x)", "`x`", "\\'\"", "a\nb"} {
		out, err := runLocally(t.Context(), "printf %s "+quote(word), nil)
		if err != nil || string(out) != word {
			t.Errorf("%q: %q, %v", word, out, err)
		}
	}
}

// The error of a machine has the end of what it says, and a machine that talks without end fills no memory.
func TestWhatAMachineSaysIsBounded(t *testing.T) {
	if out, err := runLocally(t.Context(), "yes | head -c 5000000", nil); err != nil || len(out) != maxOutput {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	_, err := runLocally(t.Context(), "yes | head -c 5000000 >&2; echo the end >&2; exit 3", nil)
	if err == nil || len(err.Error()) > maxShown+100 || !strings.Contains(err.Error(), "exit status 3") || !strings.HasSuffix(err.Error(), "the end") {
		t.Errorf("%v", err)
	}
}

// Nothing is changed while one of the machines is refused.
func TestNothingIsChangedWhileAMachineIsRefused(t *testing.T) {
	changed := false
	says := func(text string) shell {
		return func(_ context.Context, script string, _ io.Reader) ([]byte, error) {
			changed = changed || !strings.Contains(script, "It changes nothing.")
			return []byte(text), nil
		}
	}
	var out strings.Builder
	b := &bootstrap{machines: []*machine{{"a", says("system=Linux\nprocessor=x86_64\nprogram=/x\n")}, {"b", says("system=Plan9\n")}}, out: &out, progress: io.Discard}
	if err := b.run(t.Context(), false); err == nil || changed || !strings.Contains(out.String(), "b: REFUSED") {
		t.Errorf("%v, changed %v: %s", err, changed, out.String())
	}
}

// The first machine is not believed: what it says goes into command lines of the others.
func TestTheAddressOfTheFirstMachineIsAnAddress(t *testing.T) {
	for said, right := range map[string]bool{
		"10.0.0.5:7400\n": true, "gpu-1.example.com:7400": true, "[fd00::1]:7400": true,
		"a\nExecStartPre=/bin/x\n#:7400": false, "x --allow privileged y:7400": false, "-x:7400": false, "gpu-1:http": false, "%n:7400": false, "$(x):7400": false, "gpu-1": false,
	} {
		m := &machine{"a", func(context.Context, string, io.Reader) ([]byte, error) { return []byte(said), nil }}
		if address, err := advertised(t.Context(), m); (err == nil) != right || right && address != strings.TrimSpace(said) {
			t.Errorf("%q: %q, %v", said, address, err)
		}
	}
}
