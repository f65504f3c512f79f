"""Building an example with CMake."""

import subprocess


def builder(cmake, program, *, build_type):
    """A function that builds a source folder in another one, and gives the path of its program."""

    def build(source, folder):
        configure = [cmake, "-S", source, "-B", folder, f"-DCMAKE_BUILD_TYPE={build_type}"]
        subprocess.run(configure, check=True, capture_output=True, timeout=120)
        subprocess.run([cmake, "--build", folder, "--parallel", "2"], check=True, capture_output=True, timeout=600)
        return folder / program

    return build
