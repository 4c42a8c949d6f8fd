#ifndef CSYS_H
#define CSYS_H
#endif
