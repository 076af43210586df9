package disk

const crashFolder = "PHALANX_DISK_CRASH"

func crashChild(string) {}
