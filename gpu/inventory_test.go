package gpu

import (
	"fmt"
	"slices"
	"testing"
)

func TestAnInventoryKnowsItsDevices(t *testing.T) {
	i := Inventory{Devices: machine(t, t4s)}
	i.Devices[2].Health = Unhealthy
	slices.Reverse(i.Devices)
	if got, want := i.Healthy(), names(0, 1, 3, 4, 5, 6, 7); !slices.Equal(got, want) {
		t.Errorf("healthy are %v, want %v", got, want)
	}
	if d, ok := i.Device(name(2)); !ok || d.Index != 2 {
		t.Errorf("found %+v, %v", d, ok)
	}
	if d, ok := i.Device("GPU-elsewhere"); ok {
		t.Errorf("found %+v", d)
	}
}

func TestADeviceKnowsItsPeers(t *testing.T) {
	devices := machine(t, dgx1)
	if link, ok := devices[0].LinkTo(name(3)); !ok || link != (Link{Peer: name(3), Kind: LinkNVLink, Lanes: 2}) {
		t.Errorf("0 to 3 is %+v, %v", link, ok)
	}
	if link, ok := devices[0].LinkTo(name(0)); ok {
		t.Errorf("a device reaches itself by %+v", link)
	}
}

func TestDevicesBeyondWhatIsGivenSaySo(t *testing.T) {
	inventory := Inventory{Devices: cubes(MaxDevices + 2)}
	for i, d := range inventory.Bounded().Devices {
		if want := i < MaxDevices; (d.Health == Healthy) != want || (d.Problem == "") != want {
			t.Errorf("device %d is %s: %s", i, d.Health, d.Problem)
		}
	}
	if inventory.Devices[MaxDevices].Health != Healthy {
		t.Error("the inventory itself was changed")
	}
}

func TestDevicesAreOrderedByTheirNumbers(t *testing.T) {
	mig := func(index, own int) Device {
		return Device{UUID: fmt.Sprint("MIG-", own), Index: index, Health: Healthy, MIGDevice: &MIGDevice{Index: own, Profile: "1g.10gb"}}
	}
	inventory := Inventory{Devices: []Device{mig(1, 10), {UUID: "GPU-2", Index: 2, Health: Healthy}, mig(1, 2), {UUID: "GPU-0", Health: Healthy}}}
	if got, want := inventory.Healthy(), []string{"GPU-0", "MIG-2", "MIG-10", "GPU-2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Pick(inventory.Devices, inventory.Healthy(), 3); !slices.Equal(got, []string{"GPU-0", "MIG-2", "MIG-10"}) {
		t.Errorf("picked %v", got)
	}
}
