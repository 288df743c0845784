package schedule

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/compact"
	"pinion/raftfsm/spec"
)

// Members of a task that belong to one attempt. Every other one is what the work is, and a retry has it too: a new member of
// spec.Task is carried by RetryTask, or named here.
var ofOneAttempt = []string{
	"ID", "HostID", "Containers", "LastStatus", "DesiredStatus", "StopCode", "StoppedReason", "Version", "CreatedAt", "Times",
	"Queue", "Gang", "Attempt", "ForceStop", "Hold", "Drained", "Targets",
	"Service", "ProtectedUntil", // a service replaces its tasks itself, and has none tried again
}

func TestARetryHasAllThatTheWorkIs(t *testing.T) {
	was, index := &spec.Task{}, 3
	fill(reflect.ValueOf(was).Elem())
	was.ArrayIndex = &index
	n := 0
	again := RetryTask(was, func() string { n++; return fmt.Sprintf("%032x", n) }, "", time.Unix(9, 0), time.Time{})
	before, after := reflect.ValueOf(*was), reflect.ValueOf(*again)
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		same := reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface())
		if own := slices.Contains(ofOneAttempt, name); same == own {
			t.Errorf("%s of a retry: %v, before: %v", name, after.Field(i), before.Field(i))
		}
	}
	if again.Version != 1 || again.LastStatus != spec.Provisioning || again.DesiredStatus != spec.Running || again.HostID != "" {
		t.Errorf("%+v", again)
	}
}

// fill sets every member to something that is not zero.
func fill(v reflect.Value) {
	if packed, is := v.Addr().Interface().(compact.Packed); is {
		form := reflect.ValueOf(packed.Unpack())
		fill(form.Elem())
		packed.Pack(form.Interface())
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Uint8:
		if v.CanInt() {
			v.SetInt(7)
		} else {
			v.SetUint(7)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}
