package filesystem

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"pinion/raftfsm/volumeroot"
)

// Values of transitEncryption and of iam, ECS's.
const (
	enabled  = "ENABLED"
	disabled = "DISABLED"
)

// maxPath is the kernel's limit for a path, in bytes.
const maxPath = 4095

// EFSConfiguration is ECS's efsVolumeConfiguration: a directory of a file system that hosts mount.
type EFSConfiguration struct {
	FileSystemID          string            `json:"fileSystemId"`                    // the name of a FileSystem
	RootDirectory         string            `json:"rootDirectory,omitempty"`         // in it; empty: all of it
	TransitEncryption     string            `json:"transitEncryption,omitempty"`     // DISABLED when empty
	TransitEncryptionPort *int              `json:"transitEncryptionPort,omitempty"` // recorded and shown
	AuthorizationConfig   *EFSAuthorization `json:"authorizationConfig,omitempty"`
}

// EFSAuthorization is ECS's EFSAuthorizationConfig. There is nothing of it but iam DISABLED.
type EFSAuthorization struct {
	AccessPointID string `json:"accessPointId,omitempty"`
	IAM           string `json:"iam,omitempty"`
}

// Problem is the member of the configuration that cannot be had, and why; empty: all can. Which hosts have the file system is decided at placement.
func (c *EFSConfiguration) Problem() (member, why string) {
	authorization := cmp.Or(c.AuthorizationConfig, &EFSAuthorization{})
	switch port := c.TransitEncryptionPort; {
	case authorization.AccessPointID != "":
		return "authorizationConfig.accessPointId", "an access point is a user and a directory that Amazon EFS enforces, and nobody would here; name the directory with rootDirectory, and have its server say who may write to it"
	case !slices.Contains([]string{"", disabled}, authorization.IAM):
		return "authorizationConfig.iam", "no server of yours asks AWS IAM for the role of the task; which hosts mount a file system, and with which login, is the word of their operators"
	case !volumeroot.ValidName(c.FileSystemID):
		return "fileSystemId", fmt.Sprintf("it is the name of a file system of hosts (pinion up --file-system NAME=TYPE:SOURCE), 1 to 64 letters, digits, - and _, not %.100q", c.FileSystemID)
	case c.RootDirectory != "" && !validRoot(c.RootDirectory):
		return "rootDirectory", fmt.Sprintf("it is an absolute path in the file system, without .. and of at most %d bytes, not %.300q", maxPath, c.RootDirectory)
	case !slices.Contains([]string{"", enabled, disabled}, c.TransitEncryption):
		return "transitEncryption", fmt.Sprintf("it is %s or %s, not %.100q", enabled, disabled, c.TransitEncryption)
	case port != nil && (*port < 0 || *port > 65535):
		return "transitEncryptionPort", fmt.Sprintf("it is a port from 0 to 65535, not %d", *port)
	}
	return "", ""
}

func validRoot(dir string) bool {
	return path.IsAbs(dir) && len(dir) <= maxPath && !strings.Contains(dir, "\x00") && !slices.Contains(strings.Split(dir, "/"), "..")
}

// Below is RootDirectory as a path below the root of the file system; "." is the root itself.
func (c *EFSConfiguration) Below() string { return path.Clean("." + path.Clean("/"+c.RootDirectory)) }

// Volume is the requirement of a volume to its host.
func (c *EFSConfiguration) Volume(volume, writer string) Volume {
	return Volume{volume, c.FileSystemID, writer, c.TransitEncryption == enabled}
}

// Volume is a volume of a task that is in a file system of its host.
type Volume struct {
	Volume    string
	Name      string // of the file system
	Writer    string // a container that writes to it; empty: none does
	Encrypted bool   // nobody may read along
}

// RefusedBy returns the reason why a host with these file systems does not give the volume, with what would have to change; empty when it does.
func (u Volume) RefusedBy(host string, offers []Offer) string {
	at := slices.IndexFunc(offers, func(o Offer) bool { return o.Name == u.Name })
	switch {
	case at < 0:
		return fmt.Sprintf("volume %s is in the file system %s, which host %s does not have: start the host with pinion up --file-system %s=TYPE:SOURCE", u.Volume, u.Name, host, u.Name)
	case offers[at].ReadOnly && u.Writer != "":
		return fmt.Sprintf("volume %s: host %s mounts the file system %s to be read only, and container %s writes to it: set readOnly in its mountPoints", u.Volume, host, u.Name, u.Writer)
	case u.Encrypted && !offers[at].Encrypted:
		return fmt.Sprintf("volume %s has transitEncryption ENABLED, and host %s mounts the file system %s without: give its --file-system the option of type %s for it (%s), or set transitEncryption to DISABLED", u.Volume, host, u.Name, offers[at].Type, encryption(offers[at].Type))
	}
	return ""
}

// encryption returns the words for the encryption of the traffic of a type.
func encryption(kind string) string {
	if options := types[kind]; len(options) > 0 {
		return strings.Join(options, " or ")
	}
	return "Pinion knows of none"
}
