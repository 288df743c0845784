package spec

// Environment variables by which the containers of a task learn what the pool knows of it. The first five are those that
// PyTorch's env:// and torchrun read.
const (
	EnvMasterAddr = "MASTER_ADDR" // the address of the host of rank 0
	EnvMasterPort = "MASTER_PORT" // the gang's TCP port there
	EnvRank       = "RANK"        // 0 to WORLD_SIZE-1
	EnvWorldSize  = "WORLD_SIZE"  // tasks of the gang
	EnvLocalRank  = "LOCAL_RANK"  // always 0: each task sees its own GPUs alone, counted from 0
	EnvGangHosts  = "PINION_GANG_HOSTS"
	EnvArrayIndex = "PINION_ARRAY_INDEX"
	EnvAttempt    = "PINION_ATTEMPT" // 0 the first time; only in tasks that may be tried again
)
