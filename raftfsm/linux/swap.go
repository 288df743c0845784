package linux

import "fmt"

// MaxSwappiness is the highest swappiness of a container.
const MaxSwappiness = 100

// DefaultSwappiness is that of a container with a limit of swap that says none, as on ECS.
const DefaultSwappiness = 60

// SwapRefusal returns the reason why a host that does not count the swap of containers runs none with a limit of it.
func SwapRefusal(container, hostName string) string {
	return fmt.Sprintf("container %s has linuxParameters.maxSwap, and the kernel of host %s does not count the swap of containers: boot that host with swapaccount=1, or remove maxSwap", container, hostName)
}
