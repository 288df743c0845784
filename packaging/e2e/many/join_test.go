package many

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestThreeCommandsMakeAClusterOfThree(t *testing.T) {
	p := newPool(t, []string{"--gpus", "sim:2xh100"}, []string{"--gpus", "sim:2xh100"}, []string{"--gpus", "sim:2xh100", "--attribute", "last=yes"})
	one, two, three := p.Hosts()[0], p.Hosts()[1], p.Hosts()[2]
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	must(t, one.Start(ctx))
	join, err := one.JoinFlags(2, "default")
	must(t, err)
	must(t, two.Start(ctx, join...))
	p.makeKey(t, p.Hosts()[0])
	p.define(t, "first", 1, onceScript+"echo it ran on $(hostname)")
	began := time.Now()
	must(t, three.Start(ctx, join...))
	ready := time.Since(began)
	in := namedRunTask("first", "first")
	in["placementConstraints"] = []object{{"type": "memberOf", "expression": "attribute:last == yes"}}
	var answer tasks
	p.mustCall(t, three, "RunTask", in, &answer)
	if len(answer.Tasks) != 1 {
		t.Fatalf("got %v", answer)
	}
	done := p.wait(t, three, answer.Tasks[0].id(), "STOPPED")
	t.Logf("joined and ready after %v, the first task over after %v", ready, time.Since(began))
	if exit := done.Containers[0].ExitCode; exit == nil || *exit != 0 {
		t.Errorf("the first task: %v", done)
	}
	p.waitConverged(t)
	p.checkStatesEqual(t)
	for _, h := range p.Hosts() {
		if log, err := h.Pinion("logs", done.id()); err != nil || !strings.Contains(log, "it ran on ") {
			t.Errorf("the log as %s shows it: %q, %v", h.Name, log, err)
		}
	}
}

func TestAWrongTokenIsRefusedWithTheReason(t *testing.T) {
	p := newPool(t, []string{"--gpus", "none"}, []string{"--gpus", "none"})
	one, two := p.Hosts()[0], p.Hosts()[1]
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	must(t, one.Start(ctx))
	good, err := one.JoinFlags(1, "default")
	must(t, err)
	token := good[len(good)-1]
	ca, secret := strings.Index(token, "."), strings.LastIndex(token, ".")
	for name, wrong := range map[string]string{
		"not a token":     "hello",
		"another secret":  token[:secret+1] + strings.Repeat("a", len(token)-secret-1),
		"another cluster": token[:ca+1] + otherLetter(token[ca+1:ca+2]) + token[ca+2:],
	} {
		if err := two.Start(ctx, "--join", one.Address(), "--token", wrong); err == nil || !strings.Contains(strings.ToLower(err.Error()), "token") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, two.Start(ctx, good...))
	p.waitConverged(t)
}

// otherLetter is another letter of base 32.
func otherLetter(letter string) string {
	if strings.EqualFold(letter, "a") {
		return "b"
	}
	return "a"
}
