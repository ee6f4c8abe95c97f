"""python -m torch.distributed.run: here the same as launch, whose --use_env it implies."""
import sys

from torch.distributed import launch

sys.argv.insert(1, "--use_env")
launch.main()
