package pack

import "testing"

// taught is Pinion's policy after so many tasks of the shapes have arrived.
func taught(times int, shapes ...Shape) *lookahead {
	f := newLookahead()
	for range times {
		for _, s := range shapes {
			f.observe(&s)
		}
	}
	return f
}

func TestTheDefaultPolicyPutsATaskWhereItHurtsLeast(t *testing.T) {
	light := Shape{CPU: 4000, GPUs: 1, Milli: Whole}
	eight := Shape{CPU: 32000, GPUs: 8, Milli: Whole}
	half := Shape{CPU: 2000, GPUs: 1, Milli: 500}
	whole := func(n int) []int {
		free := make([]int, n)
		for i := range free {
			free[i] = Whole
		}
		return free
	}
	for name, c := range map[string]struct {
		usual []Shape
		hosts []Host
		task  Shape
		want  int
	}{
		"a share fills up a GPU in use": {
			usual: []Shape{light, half},
			hosts: []Host{{CPU: 64000, Free: whole(2)}, {CPU: 64000, Free: []int{500, Whole}}}, task: half, want: 1,
		},
		"one GPU leaves a host whole for eight": {
			usual: []Shape{light, eight},
			hosts: []Host{{CPU: 64000, Free: whole(8)}, {CPU: 64000, Free: append(whole(3), 0, 0, 0, 0, 0)}}, task: light, want: 1,
		},
		"much CPU is taken where there is most beside the GPUs": {
			usual: []Shape{light, light, light, {CPU: 20000, GPUs: 1, Milli: Whole}},
			hosts: []Host{{CPU: 32000, Free: whole(4)}, {CPU: 96000, Free: whole(4)}}, task: Shape{CPU: 20000, GPUs: 1, Milli: Whole}, want: 1,
		},
		"CPU alone is taken where no GPU needs it": {
			usual: []Shape{light},
			hosts: []Host{{CPU: 16000, Free: whole(4)}, {CPU: 16000, Free: []int{0, 0, 0, 0}}}, task: Shape{CPU: 8000}, want: 1,
		},
		"GPUs that others cannot do without are left to them": {
			usual: []Shape{light, {CPU: 4000, GPUs: 1, Milli: Whole, Models: "V100"}},
			hosts: []Host{{CPU: 32000, Free: whole(4), Model: "V100"}, {CPU: 32000, Free: whole(4), Model: "T4"}}, task: light, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.hosts {
				c.hosts[i].MemoryMiB = 1 << 20
			}
			host, _, ok := NewPacker(c.hosts, taught(20, c.usual...)).Place(c.task)
			if !ok || host != c.want {
				t.Errorf("it was put on host %d (%v), not on host %d", host, ok, c.want)
			}
		})
	}
}

func TestSmallShapesCountForMore(t *testing.T) {
	var p shapeStats
	p.add(Shape{GPUs: 1, Milli: Whole}, 10)
	p.add(Shape{GPUs: 1, Milli: 250}, 10)
	p.add(Shape{GPUs: 4, Milli: Whole}, 20)
	shapes := p.shapes()
	if len(shapes) != 3 || shapes[0].Milli != 250 || shapes[0].share != 4*shapes[1].share || shapes[2].GPUs != 4 {
		t.Errorf("%+v", shapes)
	}
}
