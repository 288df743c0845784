package gpu

import (
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
