package spec_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"pinion/raftfsm/spec"
)

func TestABoxedValueIsWrittenAsTheValue(t *testing.T) {
	type plain struct {
		Overrides spec.TaskOverride `json:"overrides"`
		Until     time.Time         `json:"until,omitzero"`
	}
	type boxed struct {
		Overrides spec.Boxed[spec.TaskOverride] `json:"overrides"`
		Until     spec.Boxed[time.Time]         `json:"until,omitzero"`
	}
	for _, value := range []plain{
		{},
		{Until: time.Unix(5, 0).UTC(), Overrides: spec.TaskOverride{CPU: "256"}},
		{Overrides: spec.TaskOverride{Containers: []spec.ContainerOverride{}}},
	} {
		want, _ := json.Marshal(value)
		got, err := json.Marshal(boxed{spec.Box(value.Overrides), spec.Box(value.Until)})
		if err != nil || string(got) != string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		var read boxed
		if err := json.Unmarshal(want, &read); err != nil || !reflect.DeepEqual(plain{read.Overrides.Get(), read.Until.Get()}, value) {
			t.Errorf("%s is read as %+v, %v", want, read, err)
		}
	}
}

func TestAZeroTimeOfAnyZoneTakesNoBox(t *testing.T) {
	if until := spec.Box(time.Time{}.In(time.FixedZone("west", -3600))); !until.IsZero() {
		t.Errorf("%v", until.Get())
	}
}

// The memory of a state is mostly tasks, and Go gives a task of one byte more 704.
func TestATaskTakesAtMost640Bytes(t *testing.T) {
	if size := unsafe.Sizeof(spec.Task{}); size > 640 {
		t.Errorf("%d bytes: put what few tasks have into a Boxed", size)
	}
}
