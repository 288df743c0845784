package linux

import "testing"

func TestPathsThatAreNoDevices(t *testing.T) {
	for path, want := range map[string]bool{
		"/dev/fuse": true, "/dev/infiniband": true, "/dev/infiniband/uverbs0": true, "/dev/disk/by-id/x": true,
		"/dev": false, "/dev/": false, "dev/fuse": false, "/dev/../etc/shadow": false, "/dev/infiniband/../mem": false, "/dev//fuse": false,
		"/devices": false, "/etc/passwd": false, "": false, "/dev/fuse\x00": false,
		"/dev/nvidia0": false, "/dev/nvidiactl": false, "/dev/nvidia-uvm": false, "/dev/nvidia-caps/nvidia-cap1": false, "/dev/nvidia-caps": false,
		"/dev/dri": false, "/dev/dri/renderD128": false, "/dev/vfio": false, "/dev/vfio/1": false, "/dev/dxg": false, "/dev/kfd": false,
		"/dev/mem": false, "/dev/kmem": false, "/dev/port": false,
	} {
		if got := CheckDevice(path); (got == nil) != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestADeviceIsAllowedByItselfOrByItsDirectory(t *testing.T) {
	allowed := []string{"/dev/fuse", "/dev/infiniband"}
	for path, want := range map[string]bool{
		"/dev/fuse": true, "/dev/infiniband": true, "/dev/infiniband/uverbs0": true,
		"/dev/fuse2": false, "/dev/infiniband2": false, "/dev/infiniband/../kvm": false, "/dev/kvm": false, "/dev": false,
	} {
		if AllowsDevice(allowed, path) != want {
			t.Errorf("%q", path)
		}
	}
	if AllowsDevice([]string{"/dev/nvidia0", "/dev"}, "/dev/nvidia0") {
		t.Error("a GPU is allowed as a device")
	}
}

func TestAContainerMayDoWithADeviceWhatItsPermissionsSay(t *testing.T) {
	for want, permissions := range map[string][]string{"rwm": nil, "r": {"read"}, "rm": {"mknod", "read"}, "w": {"write"}} {
		if got := (Device{Permissions: permissions}).Access(); got != want {
			t.Errorf("%q: %s, want %s", permissions, got, want)
		}
	}
	if (Device{HostPath: "/dev/a"}).Path() != "/dev/a" || (Device{HostPath: "/dev/a", ContainerPath: "/dev/b"}).Path() != "/dev/b" {
		t.Error("the path of a device in its container")
	}
}
