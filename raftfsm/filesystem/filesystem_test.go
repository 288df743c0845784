package filesystem_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/filesystem"
)

// A file system is what mount(8) takes, with the name first. A comma in the source has a backslash before it.
func TestFileSystemsOfACommandLine(t *testing.T) {
	for given, want := range map[string]filesystem.FileSystem{
		"models=nfs:10.0.0.5:/exports/models,vers=4.2,ro":         {Name: "models", Type: "nfs", Source: "10.0.0.5:/exports/models", Options: []string{"vers=4.2", "ro"}},
		"scratch=lustre:mds@tcp:/scratch":                         {Name: "scratch", Type: "lustre", Source: "mds@tcp:/scratch"},
		`two=lustre:10.0.0.1@o2ib\,10.0.0.1@tcp:/fs,flock`:        {Name: "two", Type: "lustre", Source: "10.0.0.1@o2ib,10.0.0.1@tcp:/fs", Options: []string{"flock"}},
		"win=cifs://server/my share,credentials=/etc/pinion/smb":  {Name: "win", Type: "cifs", Source: "//server/my share", Options: []string{"credentials=/etc/pinion/smb"}},
		"fs-0a1b2c3d=nfs4:[fe80::1%eth0]:/a'b\"c;$(d)":            {Name: "fs-0a1b2c3d", Type: "nfs4", Source: "[fe80::1%eth0]:/a'b\"c;$(d)"},
		"home=fuse.sshfs:user@server:/home,allow_other,port=2222": {Name: "home", Type: "fuse.sshfs", Source: "user@server:/home", Options: []string{"allow_other", "port=2222"}},
		`back=9p:a\b,trans=virtio`:                                {Name: "back", Type: "9p", Source: `a\b`, Options: []string{"trans=virtio"}},
	} {
		got, err := filesystem.Parse(given)
		if err != nil || got.Name != want.Name || got.Type != want.Type || got.Source != want.Source || !slices.Equal(got.Options, want.Options) {
			t.Errorf("%s: %+v, %v", given, got, err)
		}
	}
}

// What is no network file system, or could be taken for an option, or shows a password, is refused with what to write in its place.
func TestWhatIsNoFileSystem(t *testing.T) {
	for given, says := range map[string]string{
		"":                                   "NAME=TYPE:SOURCE",
		"models":                             "type",
		"a/b=nfs:s:/x":                       "NAME=TYPE:SOURCE",
		"disk=ext4:/dev/sda1":                "--volume",
		"host=none:/etc,bind":                "--volume",
		"proc=proc:proc":                     "--volume",
		"f=fuse.:s":                          "--volume",
		"f=fuse.../sh:s":                     "--volume",
		"m=nfs:":                             "source",
		"m=nfs:-o":                           "source",
		"m=nfs:s:/a\nb":                      "source",
		"m=nfs:s:/a\x00b":                    "source",
		"m=nfs:s:/\xff":                      "source",
		"m=nfs:" + strings.Repeat("s", 1025): "source",
		"m=nfs:s:/a,,ro":                     "option",
		`m=nfs:s:/a,a\,suid`:                 "option",
		"m=nfs:/etc,bind":                    "bind",
		"m=nfs:/etc,rbind":                   "rbind",
		"m=nfs:/x,loop=/dev/loop0":           "loop",
		"m=nfs:/x,remount":                   "remount",
		"m=cifs://s/x,password=geheim":       "credentials=FILE",
		"m=ceph::/,secret=AQ==":              "secretfile=FILE",
		"m=nfs:s:/a,o=" + strings.Repeat("o", 4000): "4000",
	} {
		_, err := filesystem.Parse(given)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v", given, err)
		}
		if err != nil && (strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "AQ==")) {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

// What a host tells its pool has the name, and neither source nor options. Whether nobody reads along follows from the options.
func TestAHostGivesTheFileSystemsThatItsOperatorNames(t *testing.T) {
	var offers []filesystem.Offer
	for _, given := range []string{"plain=nfs:nas-1:/x", "safe=nfs:nas-1:/x,ro,xprtsec=tls", "smb=cifs://nas-1/x,seal,credentials=/etc/login", "efs=efs:fs-1:/,tls", "lustre=lustre:nas-1@tcp:/x"} {
		f, err := filesystem.Parse(given)
		if err != nil {
			t.Fatal(err)
		}
		offers = append(offers, f.Offer())
	}
	if told := fmt.Sprintf("%+v", offers); strings.Contains(told, "nas-1") || strings.Contains(told, "/etc/login") {
		t.Errorf("the pool is told %s", told)
	}
	for _, c := range []struct{ name, encryption, writer, says string }{
		{"plain", "", "c", ""},
		{"plain", "DISABLED", "c", ""},
		{"plain", "ENABLED", "", "xprtsec=tls"},
		{"lustre", "ENABLED", "", "DISABLED"},
		{"safe", "ENABLED", "", ""},
		{"safe", "", "c", "readOnly"},
		{"smb", "ENABLED", "c", ""},
		{"efs", "ENABLED", "c", ""},
		{"Plain", "", "", "--file-system Plain="},
		{"", "", "", "--file-system"},
	} {
		configuration := filesystem.EFSConfiguration{FileSystemID: c.name, TransitEncryption: c.encryption}
		got := configuration.Volume("v", c.writer).RefusedBy("gpu-1", offers)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%+v: %q", c, got)
		}
		if got := configuration.Volume("v", c.writer).RefusedBy("gpu-1", nil); got == "" {
			t.Errorf("%+v is given by a host that says nothing", c)
		}
	}
}

// Whatever a rootDirectory is: what is accepted is a path below the root of the file system.
func FuzzRootDirectory(f *testing.F) {
	for _, dir := range []string{"", "/", "/a/b", "/a/../..", "a", "//", "/./a/", "/..", "/a\x00"} {
		f.Add(dir)
	}
	f.Fuzz(func(t *testing.T, dir string) {
		c := filesystem.EFSConfiguration{FileSystemID: "models", RootDirectory: dir}
		if member, _ := c.Problem(); member != "" {
			return
		}
		if below := c.Below(); below == "" || below[0] == '/' || slices.Contains(strings.Split(below, "/"), "..") {
			t.Errorf("%q is %q below the root", dir, below)
		}
	})
}
